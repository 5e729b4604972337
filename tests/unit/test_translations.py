"""The translations of errors are whole: each language has each text, with the same values."""

import ast
import os
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cache

import pytest
from babel import Locale

from footfall import errors
from footfall.accounts.rules.ban_list import NOT_BANNABLE, OF_EVERYBODY
from footfall.accounts.rules.registration import MAILED_ALREADY
from footfall.http import translations as reading
from footfall.http.translations import FOLDER, LOCALES, translate, translations

LANGUAGES = sorted(path.stem for path in FOLDER.glob("*.json") if path.stem != "en")
# What no reader is told: clients send none of what these refuse, or show their own words.
UNTOLD = {
    errors.BadRequest,
    errors.Unreadable,
    errors.UnsupportedMediaType,
    errors.TooSlow,
    errors.TooLong,
    errors.NotFound,
    errors.WrongMethod,
}


def raised() -> Iterator[str]:
    """The sentences with which the service raises errors whose own text is another one."""
    for path in FOLDER.parents[1].rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(ast.Name("Refused" | "TooMany"), [*_, ast.Constant(str(text))]):
                    yield text


@cache
def said() -> frozenset[str]:
    """Every text that a reader may be told."""
    classes = {*errors.ServiceError.below()} - UNTOLD
    return frozenset(
        {
            *(each.text for each in classes if each.text),
            *raised(),
            MAILED_ALREADY,
            NOT_BANNABLE,
            OF_EVERYBODY,
            *errors.FieldTooLong.FIELDS.values(),
            str(errors.FieldTooLong("nick", 1)),
            str(errors.Banned("tomorrow")),
        }
    )


def forms(text: str | Mapping[str, str]) -> list[str]:
    return [text] if isinstance(text, str) else list(text.values())


def values(text: str) -> list[str]:
    return sorted(re.findall(r"\{(\w*)\}", text))


def test_the_languages_are_those_of_the_published_clients() -> None:
    assert {*LANGUAGES} == {"zh", "zh-tw", "de", "fr", "it", "jp", "ko", "pt", "ru", "vi"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_every_text_that_readers_are_told(language: str) -> None:
    assert translations(language).keys() == said()


@pytest.mark.parametrize("language", sorted(reading.LANGUAGES))
def test_every_form_of_a_text_has_its_values_and_is_told_of_some_number(language: str) -> None:
    categories = {"other", *Locale.parse(LOCALES.get(language, language)).plural_form.tags}
    for text, translation in translations(language).items():
        for form in forms(translation):
            assert values(form) == values(text), text
        if not isinstance(translation, str):
            assert {"other"} < translation.keys() <= categories, text


def told(error: errors.ServiceError, language: str = "en") -> str:
    return translate(str(error), error.values, language)


@pytest.mark.parametrize(
    ("wait_ms", "english"),
    [
        (0, "in 1 second"),
        (1, "in 1 second"),
        (1_001, "in 2 seconds"),
        (59_500, "in 1 minute"),
        (60_000, "in 1 minute"),
        (60_001, "in 2 minutes"),
        (3_540_000, "in 59 minutes"),
        (3_600_000, "in 1 hour"),
        (3_600_001, "in 2 hours"),
        (86_400_000, "in 1 day"),
        (2 * 86_400_000, "in 2 days"),
    ],
)
def test_a_wait_is_said_in_its_unit_and_never_too_short(wait_ms: int, english: str) -> None:
    assert told(errors.TooManyAttempts(wait_ms)) == f"Too many attempts: try again {english}"


SAID = {
    "de": ("in 1 Minute noch", "in 5 Minuten noch"),
    "fr": ("dans 1 minute", "dans 5 minutes"),
    "it": ("tra 1 minuto", "tra 5 minuti"),
    "jp": ("1 分後に", "5 分後に"),
    "ko": ("1분 후 ", "5분 후 "),
    "pt": ("em 1 minuto", "em 5 minutos"),
    "ru": ("через 1 минуту", "через 5 минут"),
    "vi": ("sau 1 phút", "sau 5 phút"),
    "zh": ("在1分钟后再", "在5分钟后再"),
    "zh-tw": ("在 1 分鐘後再", "在 5 分鐘後再"),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_one_minute_and_many_are_said_as_the_language_does(language: str) -> None:
    for minutes, words in zip((1, 5), SAID[language], strict=True):
        for error in (errors.TooManyAttempts(minutes * 60_000), errors.TooFast(minutes * 60_000)):
            assert words in told(error, language)


def test_a_limit_has_its_plural_in_each_language() -> None:
    assert told(errors.FieldTooLong("nick", 1)).endswith("(maximum 1 character)")
    assert told(errors.FieldTooLong("nick", 50)) == (
        "Your name is too long (maximum 50 characters)"
    )
    assert told(errors.FieldTooLong("comment", 21), "ru").endswith("не более 21 символа")
    assert told(errors.FieldTooLong("comment", 22), "ru").endswith("не более 22 символов")
    for number, word in ((1, "запрет,"), (3, "запрета,"), (10_000, "запретов,")):
        assert word in told(errors.TooManyBans(number), "ru")


def test_the_name_of_a_field_is_translated_too() -> None:
    assert (
        told(errors.FieldTooLong("nick", 50), "de")
        == "Dein Name ist zu lang: 50 Zeichen sind erlaubt"
    )


@pytest.mark.parametrize(
    "language", ["", "tlh", "../admin/de", "de/../fr", "tlh,qya;q=0.9", "\0", "x" * 5000]
)
def test_a_language_that_is_not_there_gets_english(language: str) -> None:
    assert translate(errors.LinkExpired.text, {}, language) == errors.LinkExpired.text
    wait = {"wait": timedelta(seconds=5)}
    assert translate("again {wait}", wait, language) == "again in 5 seconds"


@pytest.mark.parametrize("asked", ["de", "DE", "tlh, de-AT;q=0.9, fr", "de-CH,fr;q=0.7"])
def test_a_browser_names_the_languages_that_it_likes(asked: str) -> None:
    assert translate(errors.Unauthorized.text, {}, asked) == translations("de")["Unauthorized"]


def test_a_wait_that_is_not_said_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusals of counters, which are many, say none."""
    monkeypatch.setitem(sys.modules, "babel.dates", None)
    assert told(errors.TooMany(1_000), "de").startswith("Zu viele Anfragen")
    with pytest.raises(ImportError):
        told(errors.TooFast(1_000), "de")


def test_a_region_gets_its_language() -> None:
    assert translate(errors.LinkExpired.text, {}, "de-at") == "Der Link gilt nicht mehr"


def test_without_a_file_descriptor_an_error_is_told_in_english(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its language is read with the first error, which may be that none is left."""
    monkeypatch.setattr(reading, "translations", lambda name: os.open("/nowhere", os.O_RDONLY))
    values = {"wait": timedelta(minutes=5), "number": 3}
    text = "Try again {wait}; {number} are left"
    assert translate(text, values, "de") == "Try again 0:05:00; 3 are left"
    assert translate("path needs {a}", {}, "de") == "path needs {a}"

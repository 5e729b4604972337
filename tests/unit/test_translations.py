"""The translations of errors are whole: each language has each text, with the same values."""

import re

import pytest

from footfall import errors
from footfall.http.translations import FOLDER, languages, translate, translations

TEXTS = {
    text: frozenset(re.findall(r"\{(\w*)\}", text))
    for name in languages()
    for text in translations(name)
}


def test_the_languages_are_those_of_the_published_clients() -> None:
    assert languages() == {"zh", "zh-tw", "de", "fr", "it", "jp", "ko", "pt", "ru", "vi"}


@pytest.mark.parametrize("language", sorted(path.stem for path in FOLDER.glob("*.json")))
def test_a_language_has_every_text_with_its_values(language: str) -> None:
    texts = translations(language)
    assert {text: frozenset(re.findall(r"\{(\w*)\}", texts[text])) for text in texts} == TEXTS


def test_every_text_that_is_translated_is_one_of_an_error() -> None:
    said = (FOLDER.parents[1] / "errors.py").read_text()
    assert [text for text in TEXTS if f'"{text}"' not in said] == []


@pytest.mark.parametrize("language", ["", "tlh", "../admin/de", "de/../fr", "DE", "\0", "x" * 5000])
def test_a_language_that_is_not_there_gets_english(language: str) -> None:
    assert translate(errors.LinkExpired.text, {}, language) == errors.LinkExpired.text


def test_a_region_gets_its_language() -> None:
    assert translate(errors.LinkExpired.text, {}, "de-at") == "Der Link gilt nicht mehr"

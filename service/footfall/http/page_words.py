"""Texts of the pages made by the server, from the tables that the other pages' scripts read.

A table maps names to texts, with {values} in them, or to the plural forms of its language, of which
the number `count` selects one.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from functools import cache, lru_cache
from pathlib import Path

import orjson

FOLDER = Path(__file__).parents[1] / "ui/admin"
# The names of our files -> Babel's, and those by which browsers know them.
LOCALES = {"en": "en", "de": "de", "zh": "zh_Hans"}
SEPARATORS = {"en": ",", "de": ".", "zh": ","}
TAGS = {"en": "en", "de": "de", "zh": "zh-Hans"}
# Of two years and the time before, in one language.
MAX_KEPT_DAYS = 2_000


def language_of(asked: str) -> str:
    """The first of these languages with a table; browsers list preferred ones first."""
    names = (language.strip().lower().partition("-")[0] for language in re.split("[,;]", asked))
    return next((name for name in names if name in LOCALES), "en")


@dataclass(frozen=True, slots=True)
class PageWords:
    """The words of one language; times are those of a zone."""

    language: str = "en"
    zone: tzinfo = UTC

    @property
    def tag(self) -> str:
        """For the attribute `lang`."""
        return TAGS[self.language]

    def say(self, name: str, count: int = 0, **values: object) -> str:
        """The words of this name with their values, of which numbers are written as the language
        does. Raises KeyError for a name that is in no table."""
        text = _table(self.language)[name]
        if not isinstance(text, str):
            text = text.get(_plural(self.language)(count), text["other"])
        values["count"] = count
        # Only for numbers: Babel takes longer than all the rest.
        said = {key: self._shown(value) for key, value in values.items() if f"{{{key}}}" in text}
        return text.format_map(said)

    def number(self, number: int) -> str:
        # A page of two years has thousands, for each of which Babel would take as long as all of
        # this takes for a hundred.
        return f"{number:,}".replace(",", SEPARATORS[self.language])

    def change(self, now: int, before: int) -> str:
        """By how much of `before`, which is not 0, such as "+12%"."""
        from babel.numbers import format_percent

        share = (now - before) / before
        return ("+" if share > 0 else "") + format_percent(share, locale=LOCALES[self.language])

    def day(self, day: date) -> str:
        """Such as "Nov 23, 2026"."""
        return _day(day, self.language)

    def month(self, day: date) -> str:
        """Such as "November 2026"."""
        from babel.dates import format_skeleton

        return format_skeleton("yMMMM", day, locale=LOCALES[self.language])

    def class_of(self, kind: str, name: str) -> str:
        """The name of a class of visitors (statistics/audience.py); "" is the others."""
        from babel import Locale

        if not name:
            return self.say("otherClasses")
        if kind == "size":
            return self.say(f"size.{name}")
        locale = Locale.parse(LOCALES[self.language])
        if kind == "country":
            return str(locale.territories.get(_codes().get(name, name), name))
        return str(locale.languages.get(name, name)) if kind == "language" else name

    def share(self, part: int, whole: int) -> str:
        """Such as "12%"."""
        from babel.numbers import format_percent

        return format_percent(part / whole, locale=LOCALES[self.language]) if whole else ""

    def signed(self, number: int) -> str:
        """Such as "+12" or "−3"."""
        sign = "+" if number > 0 else "−" if number < 0 else ""
        return sign + self.number(abs(number))

    def time(self, at_ms: int) -> str:
        """A time in ms since the epoch, to the minute."""
        return self.moment(datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(self.zone))

    def moment(self, at: datetime) -> str:
        return f"{_day(at.date(), self.language)}, {self.clock(at)}"

    def clock(self, at: datetime) -> str:
        """Such as "5:00 PM"."""
        from babel.dates import format_time

        return format_time(at, "short", locale=LOCALES[self.language])

    def hour(self, at: datetime) -> str:
        """Such as "Thu 5:00 PM"."""
        from babel.dates import format_skeleton

        skeleton = "Ehm" if self.language == "en" else "EHm"
        return format_skeleton(skeleton, at, locale=LOCALES[self.language])

    def _shown(self, value: object) -> object:
        return self.number(value) if isinstance(value, int) else value


@cache
def _plural(language: str) -> Callable[[int], str]:
    """Which form of a word goes with a number."""
    from babel import Locale

    rule: Callable[[int], str] = Locale.parse(LOCALES[language]).plural_form
    return rule


@cache
def _codes() -> Mapping[str, str]:
    """Two letters, by the Chinese names that older tables of addresses have."""
    from babel import Locale

    return {name: code for code, name in Locale.parse("zh").territories.items() if len(code) == 2}


@lru_cache(MAX_KEPT_DAYS)
def _day(day: date, language: str) -> str:
    from babel.dates import format_date

    return format_date(day, "medium", LOCALES[language])


@cache
def _table(language: str) -> Mapping[str, str | Mapping[str, str]]:
    words: Mapping[str, str | Mapping[str, str]]
    words = orjson.loads((FOLDER / f"{language}.json").read_bytes())
    return words

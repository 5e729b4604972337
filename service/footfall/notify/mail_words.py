"""Texts of emails, in the languages of words/."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import orjson

WORDS = Path(__file__).parent / "words"
LANGUAGES = ("en", "de", "zh")


def language_of(asked: str) -> str:
    """The first of these languages with a table; browsers list preferred ones first."""
    names = (language.strip().lower().partition("-")[0] for language in re.split("[,;]", asked))
    return next((name for name in names if name in LANGUAGES), LANGUAGES[0])


@dataclass(frozen=True, slots=True)
class Words:
    language: str = "en"

    def say(self, name: str, count: int = 0, /, **values: str) -> str:
        """The text with this name, with its values; `count` selects "one" or "other". Raises
        KeyError for an unknown name."""
        text = _table(self.language)[name]
        if not isinstance(text, str):
            text = text["one" if count == 1 else "other"]
        return text.format_map({**values, "count": f"{count:,}"})


@cache
def _table(language: str) -> Mapping[str, str | Mapping[str, str]]:
    table: Mapping[str, str | Mapping[str, str]]
    table = orjson.loads((WORDS / f"{language}.json").read_bytes())
    return table

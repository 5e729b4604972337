"""What readers are told, in their language: from ui/errors, a JSON file for each.

A file maps each English text of errors.py to its translation, with the same names in braces.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import orjson

FOLDER = Path(__file__).parents[1] / "ui/errors"
# Browsers' names of languages -> the names that Waline's clients and our files use.
ALIASES = {"ja": "jp", "ja-jp": "jp", "zh-hk": "zh-tw", "zh-mo": "zh-tw", "zh-hant": "zh-tw"}


def translate(text: str, values: Mapping[str, object], language: str) -> str:
    """`text` with its values. `language` is a client's `lang` in lower case; an unknown one gets
    English."""
    language = ALIASES.get(language, language)
    for name in (language, language.partition("-")[0]):
        if name in languages():
            text = translations(name).get(text, text)
            break
    return text.format_map(values) if values else text


@cache
def languages() -> frozenset[str]:
    return frozenset(path.stem for path in FOLDER.glob("*.json"))


@cache
def translations(language: str) -> Mapping[str, str]:
    """English text -> text, of one of `languages()`; read when it is first wanted."""
    texts: dict[str, str] = orjson.loads((FOLDER / f"{language}.json").read_bytes())
    return texts

"""Translated error messages, from ui/errors: a JSON file for each language.

A file maps English texts of errors.py to their translations, with the same names in braces. If
grammar requires it, a translation is an object of the language's plural categories, as CLDR names
them, selected by the number among the values; en.json has only these. A duration among the values
becomes "in 5 minutes", in the language.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from pathlib import Path

import orjson

FOLDER = Path(__file__).parents[1] / "ui/errors"
LANGUAGES = frozenset(path.stem for path in FOLDER.glob("*.json"))
# Browsers' names of languages -> the names that Waline's clients and our files use.
ALIASES = {"ja": "jp", "ja-jp": "jp", "zh-hk": "zh-tw", "zh-mo": "zh-tw", "zh-hant": "zh-tw"}
# The names of our files -> CLDR's, where they differ.
LOCALES = {"zh": "zh_Hans", "zh-tw": "zh_Hant", "jp": "ja", "pt": "pt_BR"}
UNITS = (timedelta(days=1), timedelta(hours=1), timedelta(minutes=1))

Translations = Mapping[str, str | Mapping[str, str]]


def translate(text: str, values: Mapping[str, object], language: str) -> str:
    """`text` with its values. `language` is a client's `lang`, or the languages that a browser
    likes; unknown ones get English."""
    try:
        return _translated(text, values, _known(language))
    except OSError:
        # No file descriptor is left to read the language: the reader gets an answer all the same.
        return text.format_map(values) if values else text


def _translated(text: str, values: Mapping[str, object], name: str) -> str:
    translation = translations(name).get(text, text)
    if not values:
        return translation if isinstance(translation, str) else text
    form = _form(translation, values, name)
    # Only for values: Babel takes longer than the rest of an error.
    said = {key: _shown(value, name) for key, value in values.items() if f"{{{key}}}" in form}
    return form.format_map(said)


def _known(asked: str) -> str:
    for each in re.split("[,;]", asked.lower()):
        language = ALIASES.get(each.strip(), each.strip())
        for name in (language, language.partition("-")[0]):
            if name in LANGUAGES:
                return name
    return "en"


@cache
def translations(language: str) -> Translations:
    """The texts of one of LANGUAGES; read when they are first wanted."""
    texts: Translations = orjson.loads((FOLDER / f"{language}.json").read_bytes())
    return texts


def _form(forms: str | Mapping[str, str], values: Mapping[str, object], name: str) -> str:
    """The plural form for the number among the values."""
    if isinstance(forms, str):
        return forms
    # Babel's tables take memory, so a process loads only languages that were used.
    from babel import Locale

    number = next(value for value in values.values() if isinstance(value, int))
    category = Locale.parse(LOCALES.get(name, name)).plural_form(number)
    return forms.get(category, forms["other"])


def _shown(value: object, name: str) -> object:
    if isinstance(value, timedelta):
        return _in(value, LOCALES.get(name, name))
    # The name of a field is a text of errors.py, too.
    return translations(name).get(value, value) if isinstance(value, str) else value


def _in(wait: timedelta, locale: str) -> str:
    """ "in 5 minutes": never sooner than the end of the wait."""
    from babel.dates import format_timedelta

    unit = next((limit for limit in UNITS if wait > limit), timedelta(seconds=1))
    whole = max(1, -(-wait // unit)) * unit
    return format_timedelta(whole, threshold=1, add_direction=True, locale=locale)

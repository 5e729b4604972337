"""The entries of a backup except counters and comments, and their valid forms."""

import re
from dataclasses import asdict
from typing import Any

import orjson

from ..comments.store.closings import is_rule
from ..counters import MAX_COUNT
from ..model import Credentials

# Lua's numbers are exact up to here.
_STREAM_ID = re.compile("[0-9]{1,16}-[0-9]{1,16}")
# A digest of an email, and the id of a thread's root.
_UNSUBSCRIBED = re.compile("[0-9a-v]{16}( [0-9a-v]{32})?")
# Of a page's views: a month, an hour, and the fields of a month.
_MONTH = re.compile("20[0-9]{2}(0[1-9]|1[0-2])")
_HOUR = re.compile("20[0-9]{8}( [^ ]+)?")
_FIELD = re.compile("v?([1-9]|[12][0-9]|3[01])|base|undated")
_BOT = re.compile("([1-9]|[12][0-9]|3[01]) [^ ]+")
# Of the site: fields of hours and of days; hosts and paths.
_DAY = re.compile("20[0-9]{6}")
_OF_SITE = re.compile("20[0-9]{8}|v20[0-9]{6}|b20[0-9]{6} [^ ]+")
_ANY = re.compile(".*", re.DOTALL)
# The fields of an account; its label may be null.
_TEXTS = ("type", "display_name", "email", "url", "avatar")
# The types that credentials have in JSON.
_CREDENTIALS = {
    name: list if isinstance(value, tuple) else type(value)
    for name, value in asdict(Credentials()).items()
}


def is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAX_COUNT


def is_page_views(page: object) -> bool:
    match page:
        case {"months": dict(months), "bots": dict(bots), "hours": dict(hours), **rest}:
            are_months = all(map(_MONTH.fullmatch, [*months, *bots]))
            are_months &= all(map(_is_month, months.values()))
            are_bots = all(_are_counts(counts, _BOT) for counts in bots.values())
            return not rest and are_months and are_bots and _are_counts(hours, _HOUR)
    return False


def is_site_views(site: object) -> bool:
    match site:
        case {"kept": kept, "shares": shares, "people": list(people), **rest}:
            are_names = all(isinstance(name, str) for name in people)
            are_numbers = _are_counts(kept, _OF_SITE) and _are_counts(shares, _OF_SITE)
            return _are_notes(rest.pop("notes", {})) and not rest and are_names and are_numbers
        case {"day": int(day), "sources": sources, "read": read, **rest}:
            is_day = not day or _DAY.fullmatch(str(day)) is not None
            numbers = sources, read, rest.pop("audience", {}), rest.pop("referrals", {})
            return not rest and is_day and all(_are_counts(each, _ANY) for each in numbers)
    return False


def _are_notes(notes: object) -> bool:
    return isinstance(notes, dict) and all(
        _DAY.fullmatch(day) and isinstance(text, str) for day, text in notes.items()
    )


def _is_month(fields: object) -> bool:
    return isinstance(fields, dict) and all(
        _FIELD.fullmatch(name) and type(number) is int and abs(number) <= MAX_COUNT
        for name, number in fields.items()
    )


def _are_counts(counts: object, name: re.Pattern[str]) -> bool:
    """Counts by names of this form."""
    return (
        isinstance(counts, dict)
        and all(map(name.fullmatch, counts))
        and all(map(is_count, counts.values()))
    )


def is_account(text: object) -> bool:
    match _parsed(text):
        case {"label": str() | None, **fields}:
            return all(isinstance(fields.get(name), str) for name in _TEXTS)
    return False


def is_credentials(text: object) -> bool:
    fields = _parsed(text)
    return (
        isinstance(fields, dict)
        and all(isinstance(value, _CREDENTIALS.get(name, ())) for name, value in fields.items())
        and all(isinstance(each, str) for each in fields.get("identities", {}).values())
    )


def is_ban(text: object) -> bool:
    match _parsed(text):
        case {"until": until, "reason": str(), "at": at, "by": str(), **rest}:
            return not rest and is_count(until) and is_count(at)
    return False


def is_closing(text: object) -> bool:
    return isinstance(text, str) and is_rule(text)


def is_logged(entry: Any) -> bool:
    """Is it an entry of the log: an id of a stream, and texts by name?"""
    match entry:
        case [str(id), dict(fields)] if fields and _STREAM_ID.fullmatch(id):
            return all(isinstance(text, str) for text in fields.values())
    return False


def place_in_log(entry: tuple[str, object]) -> tuple[int, int]:
    at_ms, _, number = entry[0].partition("-")
    return int(at_ms), int(number)


def is_unsubscribed(name: object) -> bool:
    return isinstance(name, str) and _UNSUBSCRIBED.fullmatch(name) is not None


def _parsed(text: object) -> Any:
    """Invalid JSON is None, which matches nothing above."""
    try:
        return orjson.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None

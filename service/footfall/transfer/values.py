"""Values as other systems write them: texts, numbers, times, and addresses of pages."""

import re
import warnings
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import urlsplit

from ..http.surrogates import whole_text
from ..pages import decode_uri, without_tracking

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Fewer seconds than this since the epoch, until 1973, are not the time of a comment: 0 stands for
# none.
LEAST_SECONDS = 100_000_000
# A number below this is seconds since the epoch (until the year 5138), one above it milliseconds
# (from 1973 on).
LEAST_MS = 100_000_000_000
# The greatest integer of a database.
MAX_NUMBER = 1 << 62
# Longer numbers than any count are not looked at: 1e999999999 would be a gigabyte.
MAX_DIGITS = 40
# Digits as they are grouped in English, French, German of Switzerland and Chinese: 1,234 and 1 234.
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:([,'\u2019\u00a0\u202f ])\d{3}(?:\1\d{3})*)?")
# How MongoDB writes numbers into JSON.
_MONGO = "$numberLong", "$numberInt", "$numberDouble", "$numberDecimal"
_YES, _NO = ("1", "1.0", "true", "yes"), ("", "0", "0.0", "false", "no", "null", "undefined")
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")
# What follows an offset, such as the zone's name in Go's and in JavaScript's dates.
_ZONE_NAME = re.compile(r"([+-]\d\d:?\d\d)\s+(?:\(.*|[A-Z]{1,5}\b.*|[+-]\d\d\s.*)$")
# The library reads GMT+8 as POSIX does, eight hours behind.
_ZONE_BEFORE = re.compile(r"\b(?:GMT|UTC)(?=[+-]\d)")
# A date as one number, such as 20211028205015: no time in seconds or ms has as many digits.
_COMPACT = re.compile(r"(?:19|20)\d{6}(?:\d{6})?")
MAX_DATE_CHARACTERS = 100
# What an incomplete date is completed with, to see that it is one.
_SOMEDAY, _ANOTHER_DAY = datetime(2001, 1, 1), datetime(2004, 2, 2)
_NEVER = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufdd0-\ufdef\ufffe\uffff]")
_ADDRESS = re.compile(r"(https?:)?//", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*")
_BLANK_LINES_OF_CODE = re.compile(r"\n(?:[ \t]*\n)+")
# Stands for a line break in code; no text has one (_NEVER).
_LINE_OF_CODE = "\0"
_CODE, _END_OF_CODE = re.compile(r"<pre\b", re.IGNORECASE), re.compile("</pre>", re.IGNORECASE)
_BLOCK = (
    r"</?(?:address|article|aside|blockquote|d[dlt]|details|div|fig(?:caption|ure)|h[1-6]|hr|li|ol|p"
    r"|pre|section|summary|t(?:able|body|d|foot|h|head|r)|ul)\b"
)
_IN_A_BLOCK = re.compile(_BLOCK, re.IGNORECASE)
# A line break, with the tag of a block before or behind it.
_LINE = re.compile(rf"({_BLOCK}[^<>]*>[ \t]*)?\n([ \t]*(?={_BLOCK}))?", re.IGNORECASE)


def text(value: object) -> str | None:
    """A text or a number as text; None for anything else. Control characters and what Unicode calls
    noncharacters are left out."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return None
    written = _NEVER.sub("", str(value))
    return written if written.isascii() else whole_text(written)


def whole(value: object) -> int | None:
    """A whole number in any usual spelling, such as 3, 3.0, "1e3", "1,234" or MongoDB's
    {"$numberLong": "3"}; None for anything else."""
    value = _of_mongo(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    written = str(value).strip()
    if _GROUPED.fullmatch(written):
        written = re.sub(r"[^\d+-]", "", written)
    try:
        number = Decimal(written)
    except InvalidOperation:
        return None
    is_whole = (
        number.is_finite() and number.adjusted() < MAX_DIGITS and number == number.to_integral()
    )
    return int(number) if is_whole and "_" not in written else None


def _of_mongo(value: object) -> object:
    """The number of an object such as {"$numberInt": "1"}."""
    if isinstance(value, Mapping):
        return next((value[name] for name in _MONGO if name in value), value)
    return value


def truth(value: object) -> bool | None:
    """None for neither yes nor no."""
    if value in (None, ""):
        return False
    written = str(value).strip().lower()
    return True if written in _YES else False if written in _NO else None


def zone_of(offset: str) -> timezone:
    """The time zone of "+08:00". Raises ValueError."""
    match = _OFFSET.fullmatch(offset)
    if not match:
        raise ValueError(f"{offset!r} is not an offset such as +08:00")
    minutes = int(match[2]) * 60 + int(match[3])
    return timezone(timedelta(minutes=minutes if match[1] == "+" else -minutes))


def moment(value: Any, zone: timezone = UTC) -> int | None:
    """A time in ms since the epoch, also before it; None if the value is not one.

    `zone` is for dates without one.
    """
    # How LeanCloud and MongoDB write dates and long numbers into JSON; the deepest is
    # {"$date": {"$numberLong": "…"}}.
    for _ in range(2):
        if isinstance(value, Mapping):
            of = map(value.get, ("iso", "$date", *_MONGO))
            value = next((inner for inner in of if inner is not None), None)
    if isinstance(value, str):
        written = value.strip()
        if not re.fullmatch(r"-?\d+(\.\d+)?", written) or _COMPACT.fullmatch(written):
            return _date(written, zone)
        value = Decimal(written)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    return _number_as_ms(Decimal(value))


def _number_as_ms(number: Decimal) -> int | None:
    if number.is_nan() or abs(number) < LEAST_SECONDS:
        return None
    if abs(number) < LEAST_MS:
        number *= 1000
    return max(-MAX_NUMBER, min(MAX_NUMBER, int(number)))


def _date(written: str, zone: timezone) -> int | None:
    try:
        date: datetime | None = datetime.fromisoformat(written)
    except ValueError:
        if len(written) > MAX_DATE_CHARACTERS:
            return None
        date = _unusual_date(_ZONE_NAME.sub(r"\1", _ZONE_BEFORE.sub("", written)))
    if date is None:
        return None
    aware = date if date.tzinfo else date.replace(tzinfo=zone)
    return (aware - EPOCH) // timedelta(milliseconds=1)


def _unusual_date(written: str) -> datetime | None:
    """A date in any unambiguous spelling of day, month and year."""
    # Loaded by the first such date: most files have none.
    from dateutil.parser import UnknownTimezoneWarning, parse

    starts_with_year = bool(re.match(r"\d{4}\b", written))
    readings = [(_SOMEDAY, False), (_ANOTHER_DAY, False)]
    # 10/11/2020 is in October or in November.
    readings += [] if starts_with_year else [(_SOMEDAY, True)]
    try:
        with warnings.catch_warnings():
            # An unknown zone, such as CST: there are four.
            warnings.simplefilter("error", UnknownTimezoneWarning)
            dates = {parse(written, default=day, dayfirst=first) for day, first in readings}
    # The library also computes with any number of digits.
    except (ValueError, ArithmeticError, UnknownTimezoneWarning):
        return None
    return dates.pop() if len(dates) == 1 else None


def path_of(address: object) -> str:
    """The path by which clients name a page of this address; a path stays as it is.

    The query stays, since it may be all that distinguishes two pages, without parameters that only
    track the source of a visit. So does a fragment that names a page of a single-page application.
    """
    written = without_place((text(address) or "").strip())
    if not _ADDRESS.match(written):
        return written
    try:
        parts = urlsplit(written)
    except ValueError:
        return ""
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return decode_uri(without_tracking(path)) + (f"#{parts.fragment}" if parts.fragment else "")


def without_place(written: str) -> str:
    """Without the fragment that names a place in a page: all but `#!…` and `#/…`, the pages of an
    application. Only addresses and paths have fragments; any other name stays."""
    path, mark, fragment = written.partition("#")
    is_kept = not (path.startswith("/") or _ADDRESS.match(path)) or fragment.startswith(("!", "/"))
    return written if is_kept else path


def address_of(written: str) -> str:
    """The parts of an address that may distinguish two pages: not its scheme, nor a place."""
    return decode_uri(re.sub(r"\Ahttps?:", "", without_place(written.strip()), flags=re.I))


def html_block(written: str, *, has_lines: bool = False) -> str:
    """HTML that a renderer of Markdown takes as it is: one block, which starts with a block's tag
    and has no blank line. With `has_lines`, line breaks are meant as WordPress means them: not in
    code, and not beside the tag of a block."""
    kept = "".join(_with_lines_of_code(written.strip()))
    parts = [part.strip() for part in _BLANK_LINES.split(kept) if part.strip()]
    if has_lines:
        parts = [_LINE.sub(_broken, part) for part in parts]
    parts = [part if _IN_A_BLOCK.match(part) else f"<p>{part}</p>" for part in parts]
    return "\n".join(parts).replace(_LINE_OF_CODE, "\n")


def _broken(match: re.Match[str]) -> str:
    is_beside_a_block = match[1] or match[2] is not None
    return match[0] if is_beside_a_block else "<br>\n"


def _with_lines_of_code(written: str) -> Iterator[str]:
    """Alternately the text outside and inside of <pre>. One expression for both would search for an
    end from each start."""
    at = 0
    while (first := _CODE.search(written, at)) and (
        last := _END_OF_CODE.search(written, first.end())
    ):
        yield written[at : first.start()]
        code = _BLANK_LINES_OF_CODE.sub(_encoded, written[first.start() : last.end()])
        yield code.replace("\n", _LINE_OF_CODE)
        at = last.end()
    yield written[at:]


def _encoded(match: re.Match[str]) -> str:
    """Blank lines that Markdown does not see."""
    return "\n" + "&#10;" * (match[0].count("\n") - 1)

"""Values as other systems write them: texts, numbers, times, and addresses of pages."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from urllib.parse import unquote, urlsplit

from ..http.surrogates import whole_text

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# A number below this is seconds since the epoch (until the year 5138), one above it milliseconds
# (from 1973 on).
LEAST_MS = 100_000_000_000
# The greatest integer of a database.
MAX_NUMBER = 1 << 62
_ZONE = re.compile(r"\s*([+-]\d\d):?(\d\d)$")
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")
# The characters that decodeURI leaves encoded; clients apply it to a page's path.
_RESERVED = re.compile(r"%(?:2[3456BCF]|3[ABDF]|40)", re.IGNORECASE)
_ADDRESS = re.compile(r"(https?:)?//", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*")
_CODE = re.compile(r"<pre\b.*?</pre>", re.IGNORECASE | re.DOTALL)
_IN_A_BLOCK = re.compile(r"<(p|div|blockquote|ul|ol|pre|table|h[1-6]|details|figure|hr)\b", re.I)


def text(value: object) -> str:
    """A text or a number as text; "" for anything else. NUL, which no text may contain, is left
    out."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    written = str(value).replace("\0", "")
    return written if written.isascii() else whole_text(written)


def number(value: object) -> int:
    """A count: a number, its text, the length of a list, or 1 for True; 0 for anything else."""
    if isinstance(value, Mapping):
        value = value.get("$numberLong") or value.get("$numberInt") or 0
    if isinstance(value, list):
        return len(value)
    try:
        found = int(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return 0
    return max(-MAX_NUMBER, min(MAX_NUMBER, found))


def truth(value: object) -> bool:
    return value is True or text(value).strip().lower() in ("1", "1.0", "true", "yes")


def zone_of(offset: str) -> timezone:
    """The time zone of "+08:00". Raises ValueError."""
    found = _OFFSET.fullmatch(offset)
    if not found:
        raise ValueError(f"{offset!r} is no offset such as +08:00")
    minutes = int(found[2]) * 60 + int(found[3])
    return timezone(timedelta(minutes=minutes if found[1] == "+" else -minutes))


def moment(value: Any, zone: timezone = UTC) -> int | None:
    """A time in ms since the epoch, also before it; None if the value is none.

    `zone` is for dates without one.
    """
    # How LeanCloud and MongoDB write dates and long numbers into JSON; the deepest is
    # {"$date": {"$numberLong": "…"}}.
    for _ in range(2):
        if isinstance(value, Mapping):
            of = map(value.get, ("iso", "$date", "$numberLong"))
            value = next((each for each in of if each is not None), None)
    if isinstance(value, str):
        written = value.strip()
        if not re.fullmatch(r"-?\d+(\.\d+)?", written):
            return _date(written, zone)
        value = float(written)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    if abs(value) < LEAST_MS:
        value *= 1000
    return int(max(-MAX_NUMBER, min(MAX_NUMBER, value)))


def _date(written: str, zone: timezone) -> int | None:
    try:
        found = datetime.fromisoformat(_ZONE.sub(r"\1:\2", written.replace("/", "-")))
    except ValueError:
        return None
    aware = found if found.tzinfo else found.replace(tzinfo=zone)
    return (aware - EPOCH) // timedelta(milliseconds=1)


def path_of(address: object) -> str:
    """The path by which clients name a page of this address; a path stays as it is.

    The query stays if nothing else names the page, as in `/?p=12`.
    """
    written = text(address).strip()
    if not _ADDRESS.match(written):
        return written
    try:
        parts = urlsplit(written)
    except ValueError:
        return ""
    path = _decoded(parts.path) or "/"
    return f"{path}?{_decoded(parts.query)}" if path == "/" and parts.query else path


def _decoded(quoted: str) -> str:
    """As decodeURI does it; what is not UTF-8 stays encoded."""
    kept = _RESERVED.sub(lambda found: "%25" + found[0][1:], quoted)
    try:
        return unquote(kept, errors="strict")
    except UnicodeDecodeError:
        return quoted


def html_block(written: str, *, has_lines: bool = False) -> str:
    """HTML that a renderer of Markdown takes as it is: one block, which begins with a block's tag
    and has no blank line. With `has_lines`, line breaks are meant."""
    # In code a blank line stays one, as a line with a space that Markdown does not see.
    kept = _CODE.sub(lambda found: _BLANK_LINES.sub("\n&#32;\n", found[0]), written.strip())
    parts = [part.strip() for part in _BLANK_LINES.split(kept) if part.strip()]
    if has_lines:
        parts = [part.replace("\n", "<br>\n") for part in parts]
    if parts and not _IN_A_BLOCK.match(parts[0]):
        parts = [f"<p>{part}</p>" for part in parts]
    return "\n".join(parts)

"""Access logs of web servers: each line a request, in the combined format or as Caddy's JSON.

nginx and Apache write the combined format, with or without the virtual host before it and with
further fields at the end. A log may be in several files, compressed or not. Most of its content was
sent by clients: unreadable lines are reported, and none stops the reading.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import orjson

from ..statistics.calendar import LEAST_MS, MOST_MS
from .source import Damaged, Source
from .values import EPOCH, MAX_DATE_CHARACTERS, moment, path_of

# Servers take no longer requests by default, and a line has two more texts of a request.
MAX_LINE_BYTES = 1 << 16
MAX_ADDRESS_CHARACTERS = 64
MAX_METHOD_CHARACTERS = 16
MAX_TYPE_CHARACTERS = 100
# Minutes that were read last: logs are nearly in order.
MAX_CACHED_MINUTES = 64

# Why a line cannot be used.
TOO_LONG = "is longer than a line of an access log"
NO_LINE = "is in no known format"
NO_AGENT = "is in the common format, which has no user agents"
NO_TIME = "has no time from 1973 to 9998"
NO_JSON = "is not JSON"
NO_REQUEST = "is not a request"

_MONTHS = {
    name: number
    for number, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)
}
# Possessive: a quoted part is read once, whatever follows.
_QUOTED = rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"'
# The time is in the last brackets before the request: clients can send a user name with brackets.
_COMBINED = re.compile(
    rb"(\S{1,255}) (\S{1,255}) [^\"]{0,255}\[([^\]]{1,40})\] "
    rb"%b (\d{3}) [\d-]{1,20}(?: %b %b|\s*$)" % (_QUOTED, _QUOTED, _QUOTED),
    re.DOTALL,
)
# 23/Nov/2026:16:17:45 +0100; a minute may have a leap second.
_TIME = re.compile(rb"(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d):(\d\d) ([+-]\d{4})")
_REQUEST = re.compile(rb"([A-Za-z-]{1,%d}) (\S+)(?: HTTP/[\d.]+)?" % MAX_METHOD_CHARACTERS)
_ADDRESS = re.compile(rb"(?=.*[.:])[0-9a-fA-F.:]{2,45}")
# How servers write bytes that would end a text or a line.
_ESCAPE = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v", b"b": b"\b", b"f": b"\f"}
_ABSOLUTE = re.compile(r"https?://[^/?#]*", re.IGNORECASE)


class LogRow(NamedTuple):
    """A request: `at` in ms since the epoch, `path` without its query and as clients name pages.

    `method` and `path` are "" for anything but an HTTP request; `referer`, `user_agent`, `type`,
    the response's Content-Type, and `host`, the requested one, are empty if missing in the request
    or the log.
    """

    at: int
    address: str
    method: str
    path: str
    status: int
    referer: str
    user_agent: bytes
    type: str = ""
    host: str = ""


class _BadLine(Exception):
    """The text is the reason."""


# The number of a line, and its row, or the reason why it cannot be used.
NumberedRow = tuple[int, LogRow | str]


def read(source: Source) -> Iterator[NumberedRow]:
    """The lines of a file, without blank ones. Raises Damaged, which names it, and OSError."""
    try:
        for number, line in source.lines():
            yield number, _row(line)
    except Damaged as error:
        raise Damaged(f"{source.name}: {error}") from error


def log_source(source: Source) -> Source:
    """A file, of which any byte that is not UTF-8 is one that a stranger has sent."""
    source.encoding = source.encoding or "utf-8"
    return source


def in_order(sources: Iterable[Source]) -> list[Source]:
    """The files of a log, as `access.log`, `access.log.1` and `access.log.2.gz`, the oldest first
    and each once. Raises Damaged, OSError."""
    once = {source.path.resolve(): source for source in sources}
    return sorted(once.values(), key=_first_ms)


def first_rows(source: Source, number: int) -> list[LogRow]:
    """The first readable lines, at most this many. Raises Damaged, OSError."""
    rows = (row for _, row in read(source) if isinstance(row, LogRow))
    return list(islice(rows, number))


def _first_ms(source: Source) -> int:
    return next((row.at for row in first_rows(source, 1)), MOST_MS)


def _row(line: bytes) -> LogRow | str:
    if len(line) > MAX_LINE_BYTES:
        return TOO_LONG
    try:
        return _of_json(line) if line.startswith(b"{") else _of_combined(line)
    except _BadLine as error:
        return str(error)


def _of_combined(line: bytes) -> LogRow:
    match = _COMBINED.match(line)
    if not match:
        raise _BadLine(NO_LINE)
    first, second, time, request, status, referer, agent = match.groups()
    if agent is None:
        raise _BadLine(NO_AGENT)
    method, path = _request(_unescaped(request))
    has_host = _ADDRESS.fullmatch(second) is not None
    return LogRow(
        at=_time(time),
        # Where the virtual host stands before it, the address is second; else that is a "-".
        address=_text(second if has_host else first)[:MAX_ADDRESS_CHARACTERS],
        method=method,
        path=path,
        status=int(status),
        referer=_text(_unescaped(referer)),
        user_agent=_unescaped(agent),
        host=_text(first) if has_host else "",
    )


def _unescaped(text: bytes) -> bytes:
    if text == b"-":
        return b""
    return _ESCAPE.sub(_meant, text) if b"\\" in text else text


def _meant(escape: "re.Match[bytes]") -> bytes:
    if digits := escape[1]:
        return bytes.fromhex(digits.decode())
    return _LETTERS.get(escape[2], escape[2])


def _text(written: bytes) -> str:
    return written.decode(errors="replace")


def _request(line: bytes) -> tuple[str, str]:
    match = _REQUEST.fullmatch(line)
    return (match[1].decode(), _path(_text(match[2]))) if match else ("", "")


def _path(target: str) -> str:
    """The path of a request's target, which names a page of the site, with its host or without."""
    local = _ABSOLUTE.sub("", target, count=1)
    path = local.partition("?")[0]
    # Clients can send any query: one belongs to a page only if nothing else names that.
    return path_of(f"https://site{local if path == '/' else path}") if path.startswith("/") else ""


def _time(written: bytes) -> int:
    match = _TIME.fullmatch(written)
    if not match:
        raise _BadLine(NO_TIME)
    minute = _minute(match[1], match[3])
    return _checked(None if minute is None else minute + int(match[2]) * 1000)


@lru_cache(maxsize=MAX_CACHED_MINUTES)
def _minute(written: bytes, offset: bytes) -> int | None:
    day, month, rest = written.split(b"/")
    year, hour, minute = rest.split(b":")
    ahead = timedelta(hours=int(offset[1:3]), minutes=int(offset[3:]))
    try:
        zone = timezone(-ahead if offset.startswith(b"-") else ahead)
        parts = int(year), _MONTHS[month], int(day), int(hour), int(minute)
        return (datetime(*parts, tzinfo=zone) - EPOCH) // timedelta(milliseconds=1)
    except (KeyError, ValueError, OverflowError):
        return None


def _checked(at: int | None) -> int:
    if at is None or not LEAST_MS <= at < MOST_MS:
        raise _BadLine(NO_TIME)
    return at


def _of_json(line: bytes) -> LogRow:
    """A line of Caddy's access log, which may share its file with other messages."""
    try:
        record = orjson.loads(line)
    except ValueError:
        raise _BadLine(NO_JSON) from None
    request = record.get("request")
    status = record.get("status")
    if not isinstance(request, dict) or type(status) is not int:
        raise _BadLine(NO_REQUEST)
    headers = request.get("headers")
    return LogRow(
        at=_stamp(record.get("ts")),
        address=_address(request),
        method=_word(request.get("method"))[:MAX_METHOD_CHARACTERS],
        path=_path(_word(request.get("uri"))),
        status=status,
        referer=_header(headers, "Referer"),
        user_agent=_header(headers, "User-Agent").encode(),
        type=_header(record.get("resp_headers"), "Content-Type")[:MAX_TYPE_CHARACTERS],
        host=_word(request.get("host")),
    )


def _stamp(written: Any) -> int:
    """Seconds or ms since the epoch, or a date, as Caddy is configured."""
    is_long = isinstance(written, str) and len(written) > MAX_DATE_CHARACTERS
    is_time = isinstance(written, int | float | str) and not is_long
    return _checked(moment(written) if is_time else None)


def _address(request: dict[str, Any]) -> str:
    """The client's, by Caddy's trusted proxies; older versions write it with its port."""
    address = _word(request.get("client_ip")) or _word(request.get("remote_ip"))
    if not address:
        address = _word(request.get("remote_addr")).rpartition(":")[0].strip("[]")
    return address[:MAX_ADDRESS_CHARACTERS]


def _header(headers: Any, name: str) -> str:
    values = headers.get(name) if isinstance(headers, dict) else None
    return _word(values[0]) if isinstance(values, list) and values else ""


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""

"""From what came over HTTP to values that are what they say, or BadRequest.

The rules are the reference's where it has any: an integer is digits with at most a sign, "" and
null are blank, a repeated parameter is a list. Every limit is a constant here, with its reason.
"""

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ..errors import BadRequest, FieldTooLong

# A URL longer than this is nobody's: browsers and proxies stop near here.
MAX_URL = 16 * 1024
# Room for the longest comment in the widest encoding, and for 200 changes of the longest paths.
MAX_BODY = 1024 * 1024
# Parameters of a query or form; 200 paths and a few more.
MAX_FIELDS = 1000
# Paths in one read, and changes in one write: an article list of a busy site, in one round trip.
MAX_PATHS = 200
MAX_PATH = 2048
MAX_NICK = 128
# RFC 5321's longest address.
MAX_MAIL = 254
MAX_LINK = 2048
MAX_UA = 1024
MAX_PAGE = 1_000_000_000
MAX_PAGE_SIZE = 100
MAX_RECENT = 50

_BYTES = {
    (high + low).encode(): bytes.fromhex(high + low)
    for high in "0123456789abcdefABCDEF"
    for low in "0123456789abcdefABCDEF"
}
# The names that clients send, decoded once.
_NAMES = {name.encode(): name for name in ("path", "type", "lang", "page", "pageSize", "sortBy")}
_INTEGER = re.compile(r"[-+]?[0-9]+")

Values = Mapping[str, Any]


class RawRequest(NamedTuple):
    """What a request asks: its query, its body, the id in its path, and in which layout."""

    query: Values
    body: Any = MappingProxyType({})
    id: str = ""
    is_bare: bool = False

    @property
    def fields(self) -> Values:
        """The body of a form or JSON object; anything else has no fields."""
        return self.body if isinstance(self.body, Mapping) else {}


def parse_query(raw: bytes) -> dict[str, Any]:
    """A query string or form as a dict; a repeated name becomes a list. Never fails on bytes.

    By hand, since the standard library's takes longer than all the rest of a counter's answer.
    """
    values: dict[str, Any] = {}
    if raw.count(b"&") >= MAX_FIELDS:
        raise BadRequest({"query": f"query should be at most {MAX_FIELDS} parameters"})
    for pair in raw.split(b"&"):
        if not pair:
            continue
        first, _, second = pair.partition(b"=")
        name = _NAMES.get(first) or decode(first)
        value = decode(second)
        if name not in values:
            values[name] = value
        elif isinstance(values[name], list):
            values[name].append(value)
        else:
            values[name] = [values[name], value]
    return values


def decode(quoted: bytes) -> str:
    """A part of a query as text: broken escapes stay as they are, broken UTF-8 becomes U+FFFD."""
    if b"+" in quoted:
        quoted = quoted.replace(b"+", b" ")
    if b"%" in quoted:
        # Paths are full of these. No escape overlaps another, so the order does not matter.
        quoted = quoted.replace(b"%2F", b"/").replace(b"%2C", b",")
    if b"%" in quoted:
        plain, *escaped = quoted.split(b"%")
        parts = [plain]
        for each in escaped:
            byte = _BYTES.get(each[:2])
            parts.append(b"%" + each if byte is None else byte + each[2:])
        quoted = b"".join(parts)
    return str(quoted, "utf-8", "replace")


class Form:
    """Reads fields and remembers what is wrong with each, so that an answer names all of them.

    `is_readers` says that readers filled it in: one whose only fault is a field that is too long is
    told so in a sentence, since published clients show words, and an object as `[object Object]`.
    """

    def __init__(self, values: Values, *, is_readers: bool = False) -> None:
        self._values = values
        self._is_readers = is_readers
        self._wrong: dict[str, str] = {}
        self._too_long: FieldTooLong | None = None

    def wrong(self, name: str, text: str) -> None:
        self._wrong.setdefault(name, text)

    def done(self) -> None:
        """Raises BadRequest or FieldTooLong if anything was wrong."""
        if self._wrong:
            raise BadRequest(self._wrong)
        if self._too_long:
            raise self._too_long

    def text(self, name: str, limit: int, *, required: str = "") -> str | None:
        """A string of up to `limit` characters; None if it was not sent.

        `required` is what to say of a blank one.
        """
        value = self._values.get(name)
        if value is None or value == "":
            if required:
                self.wrong(name, required)
            return "" if value == "" else None
        if not isinstance(value, str):
            self.wrong(name, f"{name} need a string")
            return None
        if len(value) <= limit:
            return value
        if self._is_readers:
            self._too_long = self._too_long or FieldTooLong(name, limit)
        else:
            self.wrong(name, f"{name} should be at most {limit} characters long")
        return None

    def integer(self, name: str, default: int, most: int) -> int:
        """A whole number up to `most`; blank, zero and less mean the default."""
        value = self._values.get(name)
        if value is None or value == "":
            return default
        if not isinstance(value, str) or not _INTEGER.fullmatch(value):
            self.wrong(name, f"{name} need an integer under your options")
            return default
        digits = value.lstrip("+-0")
        if value[0] == "-" or not digits:
            return default
        # By length first: Python refuses to read thousands of digits.
        if len(digits) > len(str(most)) or int(digits) > most:
            self.wrong(name, f"{name} need an integer under your options")
            return default
        return int(digits)

    def choice(self, name: str, default: str, allowed: Collection[str]) -> str:
        """One of the allowed words; blank means the default."""
        value = self._values.get(name)
        if value is None or value == "":
            return default
        return self._one(name, value, allowed) or default

    def word(self, name: str, default: str, allowed: Collection[str]) -> str:
        """One of the allowed words; the default only if nothing was sent."""
        value = self._values.get(name, default)
        if not isinstance(value, str):
            self.wrong(name, f"{name} need a string")
            return default
        return self._one(name, value, allowed) or default

    def _one(self, name: str, value: Any, allowed: Collection[str]) -> str | None:
        if not isinstance(value, str) and not isinstance(value, list):
            self.wrong(name, f"{name} need a string")
        elif not isinstance(value, str) or value not in allowed:
            self.wrong(name, not_among(name, allowed))
        else:
            return value
        return None

    def paths(self, name: str) -> list[str]:
        """Article paths: one parameter is split on commas, as clients join them; several never.

        So a path that holds a comma can be asked for by repeating the parameter, or in a JSON list.
        """
        text = value = self._values.get(name)
        if isinstance(value, str):
            value = value.split(",")
        if not isinstance(value, list):
            if value is not None:
                self.wrong(name, f"{name} need a string or a list of strings")
            return []
        if len(value) > MAX_PATHS:
            self.wrong(name, f"{name} should be at most {MAX_PATHS} paths")
            return []
        is_short = isinstance(text, str) and len(text) <= MAX_PATH
        for path in () if is_short else value:
            if not isinstance(path, str):
                self.wrong(name, f"{name} need a string")
                return []
            if len(path) > MAX_PATH:
                self.wrong(name, f"{name} should be at most {MAX_PATH} characters long")
                return []
        return value


def not_among(name: str, allowed: Collection[str]) -> str:
    listed = ",".join(f'"{each}"' for each in allowed)
    return f"{name} need in an array of [{listed}]"

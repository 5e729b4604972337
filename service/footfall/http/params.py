"""Parameters of a request, parsed to values within their limits, or BadRequest.

The rules are Waline's where it has any: an integer is digits with at most a sign, ""
and null are blank, a repeated parameter is a list. Every limit is a constant here.
"""

import re
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ..errors import BadRequest, FieldTooLong

# Bytes of path and query; browsers and proxies have limits near this one.
MAX_URL = 16 * 1024
# Room for the longest comment in the widest encoding, and for 200 changes of the longest paths.
MAX_BODY = 1024 * 1024
# Parameters of a query or form; 200 paths and a few more.
MAX_FIELDS = 1000
# Paths in one read, and changes in one write: enough for the article list of a busy site.
MAX_PATHS = 200
# Limits of texts are in characters.
MAX_PATH = 2048
MAX_NICK = 128
# RFC 5321's longest address.
MAX_MAIL = 254
MAX_LINK = 2048
MAX_UA = 1024
# Ids have 32; a longer one is rejected before Redis is queried.
MAX_ID = 64
# Of a captcha: two thousand are usual.
MAX_CAPTCHA = 8192
MAX_PAGE = 1_000_000_000
MAX_PAGE_SIZE = 100
MAX_RECENT = 50

_BYTES = {
    (high + low).encode(): bytes.fromhex(high + low)
    for high in "0123456789abcdefABCDEF"
    for low in "0123456789abcdefABCDEF"
}
# The names that clients send most, decoded in advance.
_NAMES = {name.encode(): name for name in ("path", "type", "lang", "page", "pageSize", "sortBy")}
_INTEGER = re.compile(r"[-+]?[0-9]+")

Values = Mapping[str, Any]


class RawRequest(NamedTuple):
    """A request before an operation parses it: its query, its body, the id in its path; its
    headers, in lower case; by name the variable parts of its path; and this service's address as
    its sender sees it.

    `variant` is the API variant of the response (table/variants.py), of which nothing is known
    here.
    """

    query: Values
    variant: Any
    body: Any = MappingProxyType({})
    id: str = ""
    headers: Mapping[bytes, bytes] = MappingProxyType({})
    variables: Mapping[str, str] = MappingProxyType({})
    server_url: Callable[[], str] = str

    @property
    def fields(self) -> Values:
        """The body if it is a form or a JSON object, else no fields."""
        return self.body if isinstance(self.body, Mapping) else {}


def parse_query(raw: bytes) -> dict[str, Any]:
    """A query string or form as a dict; a repeated name becomes a list of its values.

    Raises BadRequest for too many parameters, and nothing else. The standard library's parse_qs
    would take longer than all the rest of a counter's request.
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
    """Percent-decode a name or value: broken escapes stay, broken UTF-8 becomes U+FFFD."""
    if b"+" in quoted:
        quoted = quoted.replace(b"+", b" ")
    if b"%" in quoted:
        # The commonest escapes, replaced faster. No escape overlaps another, so the order is free.
        quoted = quoted.replace(b"%2F", b"/").replace(b"%2C", b",")
    if b"%" in quoted:
        plain, *escaped = quoted.split(b"%")
        parts = [plain]
        for escape in escaped:
            byte = _BYTES.get(escape[:2])
            parts.append(b"%" + escape if byte is None else byte + escape[2:])
        quoted = b"".join(parts)
    return str(quoted, "utf-8", "replace")


class Form:
    """Parses fields and collects their problems, so that an answer names all of them.

    `is_readers` is for the form that readers fill in: if its only fault is a field that is too
    long, errmsg is a sentence and no object, which published clients show as `[object Object]`.
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

    def value(self, name: str) -> Any:
        """The value as it was sent; None if nothing was."""
        return self._values.get(name)

    def text(self, name: str, limit: int, *, required: str = "") -> str | None:
        """A string of up to `limit` characters; None if it was not sent.

        A blank one is an error with the message `required`, if that is not "".
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
        """An integer from 1 to `most`; blank, zero and negative ones mean the default."""
        value = self._values.get(name)
        if value is None or value == "":
            return default
        if not isinstance(value, str) or not _INTEGER.fullmatch(value):
            self.wrong(name, f"{name} need an integer under your options")
            return default
        digits = value.lstrip("+-0")
        if value[0] == "-" or not digits:
            return default
        # The length is compared first, since int() rejects thousands of digits.
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
        """One of the allowed words, not blank; the default only if nothing was sent."""
        value = self._values.get(name, default)
        if not isinstance(value, str):
            self.wrong(name, f"{name} need a string")
            return default
        return self._one(name, value, allowed) or default

    def words(self, name: str, default: str, allowed: Collection[str]) -> list[str]:
        """Some of the allowed words, between commas or in a list; the default only if nothing was
        sent."""
        value = self._values.get(name, default)
        items = value.split(",") if isinstance(value, str) else value
        if not isinstance(items, list) or not items:
            self.wrong(name, f"{name} need a string")
            return []
        if len(items) > len(allowed) or any(item not in allowed for item in items):
            self.wrong(name, not_among(name, allowed))
        return items

    def count(self, name: str, most: int) -> int:
        """A number of JSON from 0 to `most`, which has to be sent."""
        value = self._values.get(name)
        if type(value) is int and 0 <= value <= most:
            return value
        self.wrong(name, f"{name} need an integer under your options")
        return 0

    def _one(self, name: str, value: Any, allowed: Collection[str]) -> str | None:
        if not isinstance(value, str) and not isinstance(value, list):
            self.wrong(name, f"{name} need a string")
        elif not isinstance(value, str) or value not in allowed:
            self.wrong(name, not_among(name, allowed))
        else:
            return value
        return None

    def paths(self, name: str) -> list[str]:
        """Article paths. A single parameter is split at commas, since clients join paths by them; a
        repeated one, or a JSON list, is not, so it may name paths with commas in them."""
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
    listed = ",".join(f'"{value}"' for value in allowed)
    return f"{name} need in an array of [{listed}]"

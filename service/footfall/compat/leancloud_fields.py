"""The fields of LeanCloud's requests: queries, increments, batches, and credentials.

An object's id is its name in base64url. Nothing is stored for it and nothing has to be looked up,
and there is an object for every page, viewed or not. The id has the name as the client spelt it,
since the path by which a page is counted must not be decoded twice.
"""

import hmac
import re
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import md5
from typing import Any

from ..errors import BadRequest, ServiceError, Unauthorized, Unreadable
from ..http.body import parse_json
from ..http.params import MAX_PATH, Form, RawRequest
from ..table.context import ParseContext
from ..table.fields import Field, Integer, Schema

# Pages of one query, which are those of a list page.
MAX_QUERY_NAMES = 100
# LeanCloud's own maximum, and its default limit.
MAX_LIMIT = 1_000
DEFAULT_LIMIT = 100
# Fluid sends three.
MAX_BATCH = 20
# MAX_PATH characters of four bytes each.
MAX_OBJECT_ID = -(-MAX_PATH * 4 * 4 // 3)
# How far a browser's clock may be from ours.
MAX_SIGN_AGE_MS = 5 * 60_000
# The names of an object's field: themes send the one or the other.
NAMES = ("url", "target")
INCREMENT = {"__op": "Increment", "amount": 1}

_ID = re.compile(r"[A-Za-z0-9_-]+")
_SIGN = re.compile(rb"([0-9a-fA-F]{32}),([0-9]{1,15})")
_BATCHED = re.compile(r"//?1\.1/classes/Counter(?:/([A-Za-z0-9_-]+))?")


def id_of(name: str) -> str:
    return urlsafe_b64encode(name.encode()).rstrip(b"=").decode()


def page_of_object(id: str) -> str:
    """What `id_of` was called with; "" if that cannot be."""
    if not _ID.fullmatch(id) or len(id) > MAX_OBJECT_ID:
        return ""
    try:
        name = b64decode(id + "=" * (-len(id) % 4), altchars=b"-_").decode()
    except ValueError:
        return ""
    return name if len(name) <= MAX_PATH else ""


def require_application(request: RawRequest, context: ParseContext) -> None:
    """Raises Unauthorized if the site names an application, or its key, and this is another.

    Every reader gets the key with the page: it detects misconfigured pages, and keeps nobody out.
    """
    id, key = context.settings.leancloud_app_id, context.settings.leancloud_app_key
    headers = request.headers
    if id and not _are_same(headers.get(b"x-lc-id", b""), id):
        raise Unauthorized("Unauthorized: X-LC-Id is another application's")
    if not key or _are_same(headers.get(b"x-lc-key", b""), key):
        return
    if not _is_signed(headers.get(b"x-lc-sign", b""), key, context.clock()):
        raise Unauthorized("Unauthorized: X-LC-Key or X-LC-Sign is wrong")


def _is_signed(sign: bytes, key: str, now_ms: int) -> bool:
    """Is it `md5(time + key),time`, as LeanCloud's SDK makes it, and not too old?"""
    match = _SIGN.fullmatch(sign)
    if not match or abs(now_ms - int(match[2])) > MAX_SIGN_AGE_MS:
        return False
    made = md5(match[2] + key.encode(), usedforsecurity=False).hexdigest()
    return _are_same(match[1].lower(), made)


def _are_same(sent: bytes, key: str) -> bool:
    return hmac.compare_digest(sent, key.encode())


@dataclass(frozen=True, slots=True)
class Query:
    """The value of `where`: the requested names, and their field."""

    field: str
    names: Sequence[str]
    # Of a list, only pages that were viewed have an object.
    is_list: bool


@dataclass(frozen=True, slots=True)
class Where(Field):
    """Which objects: JSON as text."""

    def read(self, form: Form, context: ParseContext) -> Query:
        value = form.value(self.name)
        if not value or not isinstance(value, str):
            form.wrong(self.name, f"{self.name} can not be blank, and need JSON")
            return Query("", (), False)
        try:
            asked = parse_json(value.encode())
        except Unreadable:
            asked = None
        query = _query_of(asked)
        if query is None:
            needed = f'a url or target, or {{"$in": […]}} with at most {MAX_QUERY_NAMES} of them'
            form.wrong(self.name, f"{self.name} need {needed}, of 1 to {MAX_PATH} characters")
        return query or Query("", (), False)

    @property
    def is_required(self) -> bool:
        return True

    def schema(self, context: ParseContext) -> Schema:
        return {"type": "string", "minLength": 1}


def _query_of(where: object) -> Query | None:
    """None for a query that themes do not send."""
    if not isinstance(where, Mapping) or len(where) != 1:
        return None
    ((field, value),) = where.items()
    is_list = isinstance(value, Mapping) and value.keys() == {"$in"}
    names = value["$in"] if is_list else [value]
    if field not in NAMES or not isinstance(names, list) or len(names) > MAX_QUERY_NAMES:
        return None
    if any(not isinstance(name, str) or not 0 < len(name) <= MAX_PATH for name in names):
        return None
    # There is one object for a name that comes twice.
    return Query(field, [*dict.fromkeys(names)], is_list)


@dataclass(frozen=True, slots=True)
class Limit(Integer):
    """The maximum of objects; 0 is none, for clients that only need their number."""

    def read(self, form: Form, context: ParseContext) -> int:
        return 0 if form.value(self.name) == "0" else Integer.read(self, form, context)

    def schema(self, context: ParseContext) -> Schema:
        return {**Integer.schema(self, context), "minimum": 0}


@dataclass(frozen=True, slots=True)
class ObjectId(Field):
    """The page of an object, from the id in a query's answer."""

    @property
    def is_required(self) -> bool:
        return True

    def read(self, form: Form, context: ParseContext) -> str:
        value = form.value(self.name)
        name = page_of_object(value) if isinstance(value, str) else ""
        if not name:
            form.wrong(self.name, f"{self.name} is none of an object here")
        return name

    def schema(self, context: ParseContext) -> Schema:
        return {"type": "string", "pattern": f"^{_ID.pattern}$", "maxLength": MAX_OBJECT_ID}


@dataclass(frozen=True, slots=True)
class Increment(Field):
    """One more: the only change, as anyone may send it."""

    @property
    def is_required(self) -> bool:
        return True

    def read(self, form: Form, context: ParseContext) -> None:
        value = form.value(self.name)
        # True is 1 to Python.
        if value != INCREMENT or type(value["amount"]) is not int:
            form.wrong(self.name, f'{self.name} need {{"__op": "Increment", "amount": 1}}')

    def schema(self, context: ParseContext) -> Schema:
        return {"const": INCREMENT}


@dataclass(frozen=True, slots=True)
class FirstCount(Field):
    """The count that a new object starts with: a view, or none."""

    def read(self, form: Form, context: ParseContext) -> int:
        value = form.value(self.name)
        if value is None:
            return 0
        if type(value) is not int or value not in (0, 1):
            form.wrong(self.name, f"{self.name} need 0 or 1")
            return 0
        return value

    def schema(self, context: ParseContext) -> Schema:
        return {"enum": [0, 1], "default": 0}


# The work of one request of a batch, or its error.
Batched = Sequence[Any]
# Reads an increment (with the id) or a creation (with None) of a request's body.
ReadsOne = Callable[[str | None, Mapping[str, Any], ParseContext], Any]


@dataclass(frozen=True, slots=True)
class Batch(Field):
    """Requests, each of which is parsed by itself: one that is wrong does not stop the others."""

    one: ReadsOne

    @property
    def is_required(self) -> bool:
        return True

    def read(self, form: Form, context: ParseContext) -> Batched:
        value = form.value(self.name)
        if not isinstance(value, list) or not 0 < len(value) <= MAX_BATCH:
            form.wrong(self.name, f"{self.name} need a list of 1 to {MAX_BATCH}")
            return []
        return [self._change_or_error(request, context) for request in value]

    def _change_or_error(self, request: object, context: ParseContext) -> Any:
        """The change, or the ServiceError that rejects it."""
        try:
            return self._change(request, context)
        except ServiceError as error:
            return error

    def _change(self, request: object, context: ParseContext) -> Any:
        if not isinstance(request, Mapping):
            raise BadRequest({self.name: "each of the requests need an object"})
        method, path, body = (request.get(name) for name in ("method", "path", "body"))
        match = _BATCHED.fullmatch(path) if isinstance(path, str) else None
        if not match or not isinstance(body, Mapping):
            raise BadRequest({"path": "path need an object of the class Counter, and body JSON"})
        if method != ("PUT" if match[1] else "POST"):
            raise BadRequest({"method": "method need PUT of an object, or POST of a new one"})
        return self.one(match[1], body, context)

    def schema(self, context: ParseContext) -> Schema:
        text = {"type": "string"}
        members = {"method": {"enum": ["PUT", "POST"]}, "path": text, "body": {"type": "object"}}
        return {
            "type": "array",
            "items": {"type": "object", "properties": members, "required": [*members]},
            "minItems": 1,
            "maxItems": MAX_BATCH,
        }

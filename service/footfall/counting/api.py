"""Read and change counters of articles.

Their API variant decides the shape of a count: a number, or an object per path.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import orjson

from ..counters import VIEWS
from ..http.params import MAX_PATHS, Form, RawRequest
from ..http.response import Reply, tagged_by_body
from ..model import Caller
from ..permissions import require_administrator
from ..statistics.sources import campaign_of, origin_of
from ..table import schemas
from ..table.answers import Answered
from ..table.context import ParseContext
from ..table.fast import Answering, FastRequest, answered
from ..table.fields import (
    COUNTER_TYPES,
    Choice,
    Field,
    Fields,
    FieldValues,
    ListOf,
    PagePath,
    Paths,
    Schema,
    Shapes,
    Words,
)
from ..table.rows import Declared, Row
from ..table.variants import Variant, content
from ..table.who import ANYBODY
from .fast import CounterChange, CounterRead
from .rules import Counting, lowers_views

operation = Declared[Counting]("counting")

# Encoders by requested types, which clients choose.
MAX_SHARED_REPLIES = 256
ACTIONS = {"inc": 1, "desc": -1}
MAX_REFERRER = 2_000


@dataclass(frozen=True, slots=True)
class Read:
    """Counters to read; `paths` is None when the request named none, and the answer is then 0."""

    paths: Sequence[str] | None
    types: Sequence[str]
    variant: Variant

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Read":
        paths = values["paths"] if "paths" in values else values["path"]
        return cls(paths, values["type"], request.variant)


@lru_cache(MAX_SHARED_REPLIES)
def counts_reply(types: tuple[str, ...], variant: Variant) -> Answering:
    """Makes the answer of counts: of each path, its counters of these types in order.

    Prepared requests share it, so that they are few objects, and need not keep the paths.
    """
    one = _one(types[0], variant)

    def reply(counts: Sequence[int]) -> Reply:
        if len(counts) == 1:
            # Most requests read one counter, and its count is a sufficient ETag.
            return one % counts[0], b'"%d"' % counts[0]
        if len(counts) == len(types):
            json = variant.single(orjson.dumps(dict(zip(types, counts, strict=True))))
        elif len(types) > 1 or not counts:
            json = orjson.dumps(_rows(types, counts))
        else:
            # A site's front page reads fifty counters at once: building fifty dicts would take
            # longer than the rest of the request.
            before, after = variant.count(types[0]).split(b"%d")
            numbers = orjson.dumps(counts)[1:-1].replace(b",", after + b"," + before)
            json = b"[" + before + numbers + after + b"]"
        return tagged_by_body(variant.content_envelope.around(json))

    return reply


@cache
def _one(type: str, variant: Variant, *, is_list: bool = False) -> bytes:
    """A template of the answer for one counter of this type, with %d for its count."""
    count = variant.count(type)
    json = b"[" + count + b"]" if is_list else variant.single(count)
    return variant.content_envelope.around(json)


def _rows(types: Sequence[str], counts: Sequence[int]) -> list[dict[str, int]]:
    width = len(types)
    starts = range(0, len(counts), width)
    return [dict(zip(types, counts[i : i + width], strict=True)) for i in starts]


_READ_TYPES = Words("type", "The counters of each page", VIEWS, COUNTER_TYPES)
_READ_MANY = Fields(
    Read.of,
    (Paths("paths", "The pages; none of these is split at commas"), _READ_TYPES),
    when=lambda request: "paths" in request.fields,
)
_READ = Fields(
    Read.of,
    (Paths("path", "The pages, between commas or by one parameter each"), _READ_TYPES),
    source="query",
)
READ = Shapes((_READ_MANY, _READ))


def read(counting: Counting, parsed: Read) -> FastRequest:
    if parsed.paths is None:
        return FastRequest(lambda numbers: 0)
    names = counting.counters.names(parsed.paths, parsed.types)
    return CounterRead(counting, names, counts_reply(tuple(parsed.types), parsed.variant))


operation.append(
    Row(
        "article_read",
        "GET",
        "/article",
        READ,
        ANYBODY,
        schemas.READ,
        envelope=content,
        fast=read,
        noun="counting",
    )
)


@dataclass(frozen=True, slots=True)
class Change:
    """Counters to change: (path, type, delta) in the order in which they were sent."""

    changes: Sequence[tuple[str, str, int]]
    is_list: bool
    variant: Variant
    # What only the page knows of its view: the referring host, and whether a bot reads it.
    referrer: str = ""
    webdriver: bool = False

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Change":
        referrer, webdriver = _asides(values)
        referrer = campaign_of(request.fields.get("path")) or referrer
        return cls([_change(values)], False, request.variant, referrer, webdriver)

    @classmethod
    def of_list(
        cls, changes: Sequence[FieldValues], request: RawRequest, context: ParseContext
    ) -> "Change":
        return cls([_change(fields) for fields in changes], True, request.variant)


@lru_cache(MAX_SHARED_REPLIES)
def _change_reply(types: tuple[str, ...], variant: Variant, *, is_list: bool) -> Answering:
    """Makes the answer of the new counts of changes of these types; shared like the other."""
    one = _one(types[0], variant, is_list=is_list)

    def reply(counts: Sequence[int]) -> Reply:
        if len(counts) == 1:
            return one % counts[0], b""
        named = zip(types, counts, strict=True)
        listed = b",".join([variant.count(type) % count for type, count in named])
        return variant.content_envelope.around(b"[" + listed + b"]"), b""

    return reply


@dataclass(frozen=True, slots=True)
class Aside(Field):
    """Optional fields of a page: no view is lost because one is invalid."""

    def read(self, form: Form, context: ParseContext) -> Any:
        return form.value(self.name)

    def schema(self, context: ParseContext) -> Schema:
        return {}


def _asides(values: FieldValues) -> tuple[str, bool]:
    """Referrer and bot, if the page sends them."""
    referrer = values["referrer"]
    is_text = isinstance(referrer, str) and len(referrer) <= MAX_REFERRER
    return referrer if is_text else "", values["webdriver"] is True


def _change(values: FieldValues) -> tuple[str, str, int]:
    """(path, type, delta) of one change."""
    return values["path"], values["type"], ACTIONS[values["action"]]


_CHANGE = Fields(
    Change.of,
    (
        PagePath("path", "The page", required="path can not be blank"),
        Choice("type", "The counter", VIEWS, COUNTER_TYPES, is_word=True),
        Choice("action", "Up or down by one", "inc", ACTIONS),
        Aside("referrer", "The host, or the page, that led to the page; of one view"),
        Aside("webdriver", "`true` if a program reads the page, as `navigator.webdriver` says"),
    ),
)
# An object with `paths` is a read, as in Waline.
CHANGE: Shapes[Change | Read] = Shapes(
    (_READ_MANY, ListOf(Change.of_list, _CHANGE, "changes", "change", MAX_PATHS), _CHANGE)
)


def add(counting: Counting, parsed: Change | Read) -> FastRequest | None:
    """None if only an administrator may send this."""
    is_lower = isinstance(parsed, Change) and lowers_views(parsed.changes)
    return None if is_lower else _asked(counting, parsed)


@operation(
    "article_change", "POST", "/article", CHANGE, ANYBODY, schemas.READ, envelope=content, fast=add
)
async def change(counting: Counting, parsed: Change | Read, caller: Caller) -> Answered:
    """Raises Unauthorized or Forbidden if a caller other than an administrator lowers views."""
    if isinstance(parsed, Change) and lowers_views(parsed.changes):
        require_administrator(caller.viewer)
    return await answered(_asked(counting, parsed), counting.clients.of_caller(caller), caller)


def _asked(counting: Counting, parsed: Change | Read) -> FastRequest:
    if isinstance(parsed, Read):
        return read(counting, parsed)
    types = tuple(type for _, type, _ in parsed.changes)
    reply = _change_reply(types, parsed.variant, is_list=parsed.is_list)
    origin = origin_of(parsed.referrer, counting.own_hosts, is_automated=parsed.webdriver)
    return CounterChange(counting, parsed.changes, reply, origin)

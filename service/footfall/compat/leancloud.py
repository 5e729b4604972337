"""LeanCloud's counters: the class Counter of its REST API, as Hexo's themes and Valine use it.

Valine also requests its comments, of the class Comment. It finds none here, and posting one returns
the reason: Valine would show everybody's email address to everybody.

A theme requests the object of a page (`GET /1.1/classes/Counter?where={"url": "/a"}`), shows its
`time`, and adds one (`PUT /1.1/classes/Counter/<objectId>`). Here every page has an object, even
without views: clients would create it, and two concurrent first readers created two. Names are
returned as the client spelt them, since themes compare them with their request.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import orjson

from ..comments.noun import Comments
from ..counters import VIEWS, counter_of
from ..counting.fast import CounterChange, CounterRead
from ..counting.rules import Counting
from ..errors import BadRequest, CommentsElsewhere, NoRoom, Refused, ServiceError
from ..http.envelope import NO_ENVELOPE
from ..http.params import MAX_PATH, Form, RawRequest
from ..http.response import SHARED, Reply, Response, tagged_by_body
from ..http.translations import translate
from ..model import Caller, iso
from ..table.context import ParseContext
from ..table.fast import FastRequest
from ..table.fields import Choice, Fields, FieldValues, Text
from ..table.prefixes import Prefix
from ..table.rows import Row
from ..table.schemas import NUMBER, TEXT, AnswerSchema, Schema, list_of, object_of
from ..table.variants import REFUSAL_STATUSES, WALINE, Refusals
from ..table.who import ANYBODY
from .echo import size_of
from .leancloud_fields import (
    DEFAULT_LIMIT,
    MAX_LIMIT,
    NAMES,
    Batch,
    FirstCount,
    Increment,
    Limit,
    ObjectId,
    Query,
    Where,
    id_of,
    require_application,
)

# LeanCloud's codes: an invalid field, a limit, no permission, and all others.
INVALID_FIELD, QUOTA, UNAUTHORIZED, OTHER = 105, 140, 401, 1
# For an invalid body.
BODY_STATUSES = (400, 413, 415)
# First and last views are not stored, but SDKs read dates. They are always the same, so that an
# unchanged count is an unchanged answer.
NO_DATE = iso(0)
# Stands for the time in an answer: no JSON has this byte.
_NOW = b"\0"
_NO_COMMENTS = tagged_by_body(b'{"results":[],"count":0}')
# What an error looks like.
Told = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Find:
    query: Query
    pages: Sequence[str]
    limit: int
    tells_number: bool

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Find":
        require_application(request, context)
        query: Query = values["where"]
        pages = [context.page_of(name) for name in query.names]
        return cls(query, pages, values["limit"], values["count"] == "1")


@dataclass(frozen=True, slots=True)
class Save:
    """A view of the page with this name, or none where an object is created with 0."""

    name: str
    page: str
    is_new: bool
    views: int = 1


def find(counting: Counting, parsed: Find) -> FastRequest:
    query = parsed.query
    rows = [_row(query.field, name) for name in query.names]
    answer = partial(_found, rows, parsed.limit, parsed.tells_number, query.is_list)
    if not rows:
        return FastRequest(answer)
    return CounterRead(
        counting, [*map(counter_of, parsed.pages)], answer, kept_bytes=size_of(*rows)
    )


def _found(
    rows: Sequence[bytes], limit: int, tells_number: bool, is_list: bool, counts: Sequence[int]
) -> Reply:
    both = zip(rows, counts, strict=True)
    found = [row % count for row, count in both if count or not is_list]
    number = b',"count":%d' % len(found) if tells_number else b""
    return tagged_by_body(b'{"results":[%b]%b}' % (b",".join(found[:limit]), number))


def _row(field: str, name: str) -> bytes:
    """A template of an object's JSON, with %d for its count."""
    dates = {"createdAt": NO_DATE, "updatedAt": NO_DATE}
    json = orjson.dumps({"objectId": id_of(name), field: name, "title": "", **dates})
    return json[:-1].replace(b"%", b"%%") + b',"time":%d}'


def save(comments: Comments, parsed: Save) -> FastRequest:
    return _changes(comments, [parsed], _saved(parsed))


def batch(comments: Comments, parsed: Sequence[Save | Told]) -> FastRequest:
    """One round trip for all; several views of one page are all counted."""
    outcomes = b",".join(map(_outcome, parsed))
    saves = [outcome for outcome in parsed if isinstance(outcome, Save)]
    return _changes(comments, saves, b"[" + outcomes + b"]")


def _changes(comments: Comments, saves: Sequence[Save], json: bytes) -> FastRequest:
    """`json` is the answer, with _NOW in place of the time."""

    def answer(counts: Sequence[int]) -> Reply:
        return json.replace(_NOW, iso(comments.process.clock()).encode()), b""

    changes = [(save.page, VIEWS, 1) for save in saves if save.views]
    if not changes:
        return FastRequest(answer)
    return CounterChange(comments.counting, changes, answer, kept_bytes=size_of(json))


def _outcome(each: Save | Told) -> bytes:
    if isinstance(each, Save):
        return b'{"success":%b}' % _saved(each)
    return b'{"error":%b}' % orjson.dumps(each)


def _saved(saved: Save) -> bytes:
    date = b"createdAt" if saved.is_new else b"updatedAt"
    return b'{"objectId":"%b","%b":"%b"}' % (id_of(saved.name).encode(), date, _NOW)


def find_comments(_: object, parsed: None) -> FastRequest:
    return FastRequest(lambda counts: _NO_COMMENTS)


async def refuse_comment(_: object, parsed: None, caller: Caller) -> Response:
    # Valine does not send its language, but its reader's browser does.
    return _refused(CommentsElsewhere(), caller.language)


# Requests.


def _about_comments(values: FieldValues, request: RawRequest, context: ParseContext) -> None:
    require_application(request, context)


def _changes_or_errors(
    values: FieldValues, request: RawRequest, context: ParseContext
) -> list[Save | Told]:
    require_application(request, context)
    # An error would keep its traceback alive for as long as the fast path caches the request.
    return [
        _told(value, "") if isinstance(value, ServiceError) else value
        for value in values["requests"]
    ]


def _increment(values: FieldValues, request: RawRequest, context: ParseContext) -> Save:
    require_application(request, context)
    return _saved_view(values, context)


def _creation(values: FieldValues, request: RawRequest, context: ParseContext) -> Save:
    require_application(request, context)
    return _created(values, context)


def _saved_view(values: FieldValues, context: ParseContext) -> Save:
    name = values["objectId"]
    return Save(name, context.page_of(name), is_new=False)


def _created(values: FieldValues, context: ParseContext) -> Save:
    name = values["url"] or values["target"]
    return Save(name, context.page_of(name), is_new=True, views=values["time"])


def _names_a_page(form: Form, values: FieldValues) -> None:
    if not (values["url"] or values["target"]):
        form.wrong("url", "url can not be blank, nor target")


def _changes_time_alone(request: RawRequest) -> None:
    _require_time_alone(request.fields)


def _require_time_alone(body: Mapping[str, Any]) -> None:
    """Raises BadRequest: a client that sends another field would believe that it is stored."""
    for name in body:
        if name != "time":
            raise BadRequest({name[:64]: f"{name[:64]} can not be changed, time alone can"})


_FIND = Fields(
    Find.of,
    (
        Where("where", "The pages, by the name that objects have: `url` or `target`"),
        Limit("limit", "At most so many objects", DEFAULT_LIMIT, MAX_LIMIT),
        Choice("count", "Whether to say how many objects there are", "0", ("0", "1")),
    ),
    source="query",
)
_CREATE = Fields(
    _creation,
    (
        Text("url", "The page", MAX_PATH),
        Text("target", "The page, where there is no `url`", MAX_PATH),
        FirstCount("time", "Whether it counts a view"),
    ),
    check=_names_a_page,
)
_PUT = Fields(
    _increment,
    (ObjectId("objectId", "Of an object"), Increment("time", "One view more")),
    before=_changes_time_alone,
)


def _batched(id: str | None, body: Mapping[str, Any], context: ParseContext) -> Save:
    """Raises BadRequest."""
    if id is None:
        return _created(_CREATE.read(body, context), context)
    _require_time_alone(body)
    return _saved_view(_PUT.read({**body, "objectId": id}, context), context)


_COMMENTS = Fields(_about_comments, (), source="query")
_BATCH = Fields(_changes_or_errors, (Batch("requests", "What is to be done", _batched),))


# Answers.


def _refused(error: ServiceError, language: str) -> Response:
    # Clients check the status first, so errors need one.
    status = 400 if isinstance(error, BadRequest) else 403
    return Response(
        status if isinstance(error, BadRequest | Refused) else error.status,
        orjson.dumps(_told(error, language)),
    )


def _told(error: ServiceError, language: str) -> Told:
    return {"code": _code(error), "error": translate(str(error), error.values, language)}


def _code(error: ServiceError) -> int:
    if isinstance(error, BadRequest):
        return INVALID_FIELD
    if isinstance(error, NoRoom):
        return QUOTA
    if isinstance(error, CommentsElsewhere):
        # Valine has words of its own for others.
        return OTHER
    # Fluid's script stops at one code alone: with any other it shows that a page has one view. It
    # sends no body.
    return error.status if error.status in BODY_STATUSES else UNAUTHORIZED


_ERROR = object_of(code=NUMBER, error=TEXT)
_DATES = {"createdAt": TEXT, "updatedAt": TEXT}
_COUNTER: Schema = {
    "anyOf": [
        object_of(objectId=TEXT, title={"const": ""}, time=NUMBER, **{name: TEXT}, **_DATES)
        for name in NAMES
    ]
}
_CREATED = object_of(objectId=TEXT, createdAt=TEXT)
_UPDATED = object_of(objectId=TEXT, updatedAt=TEXT)
_SAVED: Schema = {"anyOf": [_CREATED, _UPDATED]}
FOUND = AnswerSchema(object_of(results=list_of(_COUNTER), _optional={"count": NUMBER}))
CREATED = AnswerSchema(_CREATED, status=201)
UPDATED = AnswerSchema(_UPDATED)
NO_COMMENTS = AnswerSchema(object_of(results={"const": []}, count={"const": 0}))
OUTCOMES = AnswerSchema(list_of({"anyOf": [object_of(success=_SAVED), object_of(error=_ERROR)]}))

REFUSED = dict.fromkeys({*REFUSAL_STATUSES} - {200}, AnswerSchema(_ERROR))
VARIANT = replace(
    WALINE,
    headers=SHARED,
    envelope=NO_ENVELOPE,
    refusals=Refusals(_refused, "LeanCloudError", REFUSED),
)
COMMENT = "/classes/Comment"
PREFIX = Prefix("/1.1", VARIANT, name="LeanCloud")
_row_of = partial(Row, noun="comments", who=ANYBODY, prefixes=(PREFIX,))
# If the site names an application, headers decide. The fast path does not read these, so it
# prepares nothing, and the endpoint checks them.
ROWS = (
    _row_of(
        "leancloud_find", "GET", "/classes/Counter", _FIND, answer=FOUND, fast=find, noun="counting"
    ),
    _row_of("leancloud_create", "POST", "/classes/Counter", _CREATE, answer=CREATED, fast=save),
    _row_of(
        "leancloud_increment", "PUT", "/classes/Counter/{objectId}", _PUT, answer=UPDATED, fast=save
    ),
    _row_of(
        "leancloud_comments", "GET", COMMENT, _COMMENTS, answer=NO_COMMENTS, fast=find_comments
    ),
    _row_of("leancloud_comment", "POST", COMMENT, _COMMENTS, answer=CREATED, run=refuse_comment),
    _row_of("leancloud_batch", "POST", "/batch", _BATCH, answer=OUTCOMES, fast=batch),
)

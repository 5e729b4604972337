"""Open Kounter's counters, as the theme Fluid uses them: one path, and an action in the body.

A counter is read by its target (`GET /api/counter?target=site-pv`), and a page's view counts
several of them (`POST /api/counter` with `batch_inc`). An error has status 200 and a `code` other
than 0, as in Open Kounter; if HTTP fails, the status shows it as well.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import orjson

from ..counters import VIEWS, counter_of
from ..counting.fast import CounterChange, CounterRead
from ..counting.rules import Counting
from ..errors import Forbidden, ServiceError, Unreadable
from ..http.envelope import Envelope
from ..http.params import MAX_PATH, Form, RawRequest
from ..http.response import SHARED, Reply, Response
from ..http.translations import translate
from ..table.context import ParseContext
from ..table.fast import Answering, FastRequest
from ..table.fields import Choice, Field, Fields, FieldValues, Schema, Shapes, Text
from ..table.prefixes import Prefix
from ..table.rows import Row
from ..table.schemas import NUMBER, TEXT, AnswerSchema, list_of, object_of
from ..table.variants import REFUSAL_STATUSES, WALINE, Refusals
from ..table.who import ANYBODY
from .echo import size_of

ENVELOPE = Envelope(b'{"code":0,"data":', b"}")
# Fluid sends three.
MAX_BATCH = 20
FAILED = 1000
# Theirs returns "Origin not allowed", and malformed JSON, with status 200.
FAILED_WITH_200 = (Forbidden, Unreadable)

_OBJECT_PATH = re.compile(r"/classes/Counter/(.+)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Counter:
    """`target` is a page's name as the client spelt it, which answers repeat."""

    target: str
    page: str

    @property
    def json(self) -> bytes:
        """A template of its answer, with %d for its count."""
        target = orjson.dumps(self.target).replace(b"%", b"%%")
        return b'{"time":%%d,"target":%b}' % target


@dataclass(frozen=True, slots=True)
class Ask:
    counters: Sequence[Counter]
    # "" if it only reads.
    action: str

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Ask":
        return cls([_counter(values["target"], context)], values["action"])

    @classmethod
    def of_batch(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Ask":
        return cls([_counter(target, context) for target in values["requests"]], values["action"])


def _counter(target: str, context: ParseContext) -> Counter:
    return Counter(target, context.page_of(target))


def _counter_of(values: FieldValues, request: RawRequest, context: ParseContext) -> Counter:
    return _counter(values["target"], context)


def read(counting: Counting, parsed: Counter) -> FastRequest:
    # First and last changes of a counter are not stored; theirs returns 0 for unknown ones.
    json = ENVELOPE.around(parsed.json[:-1] + b',"created_at":0,"updated_at":0}')

    def answer(counts: Sequence[int]) -> Reply:
        # The count is a sufficient ETag.
        return json % counts[0], b'"%d"' % counts[0]

    return _read(counting, parsed, answer, json)


def ask(counting: Counting, parsed: Ask) -> FastRequest:
    if not parsed.action:
        (counter,) = parsed.counters
        json = ENVELOPE.around(counter.json)
        return _read(counting, counter, partial(_told, json), json)
    json = b",".join([counter.json for counter in parsed.counters])
    if parsed.action == BATCH:
        json = b"[" + json + b"]"
    changes = [(counter.page, VIEWS, 1) for counter in parsed.counters]
    json = ENVELOPE.around(json)
    return CounterChange(counting, changes, partial(_told, json), kept_bytes=size_of(json))


def _read(counting: Counting, counter: Counter, answer: Answering, json: bytes) -> FastRequest:
    return CounterRead(counting, [counter_of(counter.page)], answer, kept_bytes=size_of(json))


def _told(json: bytes, counts: Sequence[int]) -> Reply:
    return json % tuple(counts), b""


# Requests.


@dataclass(frozen=True, slots=True)
class Targets(Field):
    """The targets of a batch: a list of objects."""

    @property
    def is_required(self) -> bool:
        return True

    def read(self, form: Form, context: ParseContext) -> Sequence[str]:
        value = form.value(self.name)
        if not isinstance(value, list) or not 0 < len(value) <= MAX_BATCH:
            form.wrong(self.name, f"{self.name} need a list of 1 to {MAX_BATCH}")
            return []
        targets = [_target_of(entry) for entry in value]
        for i, target in enumerate(targets):
            if not isinstance(target, str) or not 0 < len(target) <= MAX_PATH:
                name = f"{self.name}.{i}.target"
                form.wrong(name, f"{name} need a string of 1 to {MAX_PATH} characters")
        return targets

    def schema(self, context: ParseContext) -> Schema:
        target = {"type": "string", "minLength": 1, "maxLength": MAX_PATH}
        members = {"target": target, "path": {"type": "string"}}
        items = {"type": "object", "properties": members}
        return {"type": "array", "items": items, "minItems": 1, "maxItems": MAX_BATCH}


def _target_of(item: object) -> Any:
    """An item's target; or what stands in a path of LeanCloud's form, which a theme may still
    send."""
    if not isinstance(item, Mapping):
        return None
    target, path = item.get("target"), item.get("path")
    if target or not isinstance(path, str):
        return target
    match = _OBJECT_PATH.search(path)
    return match[1] if match else None


BATCH = "batch_inc"
_ACTION = Choice("action", "What to do; nothing reads", "", ("inc", BATCH))
_TARGET = Text("target", "The counter", MAX_PATH, required="target can not be blank")
_GET = Fields(_counter_of, (_TARGET,), source="query")
_POST = Shapes(
    (
        Fields(
            Ask.of_batch,
            (_ACTION, Targets("requests", "The counters to raise by one")),
            when=lambda request: request.fields.get("action") == BATCH,
        ),
        Fields(Ask.of, (_ACTION, _TARGET)),
    )
)


# Answers.


def _refused(error: ServiceError, language: str) -> Response:
    said = translate(str(error), error.values, language)
    status = 200 if isinstance(error, FAILED_WITH_200) else error.status
    return Response(status, orjson.dumps({"code": FAILED, "message": said}))


_COUNTED = object_of(time=NUMBER, target=TEXT)
READ = AnswerSchema(object_of(time=NUMBER, target=TEXT, created_at=NUMBER, updated_at=NUMBER))
COUNTED = AnswerSchema({"anyOf": [_COUNTED, list_of(_COUNTED)]})
REFUSED = AnswerSchema(object_of(code={"const": FAILED}, message=TEXT))
STATUSES = {200, *REFUSAL_STATUSES} - {error.status for error in FAILED_WITH_200}
VARIANT = replace(
    WALINE,
    headers=SHARED,
    envelope=ENVELOPE,
    refusals=Refusals(_refused, "OpenKounterError", dict.fromkeys(STATUSES, REFUSED)),
)
PREFIXES = (Prefix("", VARIANT, name="Open Kounter"),)
_row = partial(Row, noun="counting", who=ANYBODY, prefixes=PREFIXES)
# Waline's operations are under /api as well; none is called so.
ROWS = (
    _row("open_kounter_read", "GET", "/api/counter", _GET, answer=READ, fast=read),
    _row("open_kounter_count", "POST", "/api/counter", _POST, answer=COUNTED, fast=ask),
)

"""A small protocol of another counter, in one file as each below service/footfall/compat/.

`GET /hits/count?page=/a` counts a view and answers `{"value": 1}`, and so does a beacon, `POST
/hit?page=/a`. `GET /hits/badge/a.svg` counts and is a picture, and `GET /hits/value/a.json` only
reads. An error is `{"error": "…"}`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import orjson

from footfall import routes
from footfall.counters import VIEWS
from footfall.counting.fast import CounterChange, CounterRead
from footfall.counting.rules import Counting
from footfall.errors import BadRequest, ServiceError
from footfall.http.envelope import NO_ENVELOPE
from footfall.http.response import SHARED, Reply, Response
from footfall.table.fast import FastRequest
from footfall.table.fields import Fields, PagePath
from footfall.table.prefixes import Prefix
from footfall.table.rows import Row
from footfall.table.schemas import AnswerSchema
from footfall.table.variants import REFUSAL_STATUSES, WALINE, Refusals
from footfall.table.who import ANYBODY


@dataclass(frozen=True, slots=True)
class Hit:
    page: str


_PAGE = PagePath("page", "The page", required="page can not be blank")
HIT = Fields(lambda found, request, context: Hit(found["page"]), (_PAGE,), source="query")


def count(counting: Counting, parsed: Hit) -> FastRequest:
    return CounterChange(counting, [(parsed.page, VIEWS, 1)], _number)


def badge(counting: Counting, parsed: Hit) -> FastRequest:
    return CounterChange(counting, [(parsed.page, VIEWS, 1)], _picture)


def value(counting: Counting, parsed: Hit) -> FastRequest:
    names = counting.counters.names([parsed.page], [VIEWS])
    return CounterRead(counting, names, lambda counts: {"value": counts[0]})


def _number(counts: Sequence[int]) -> Reply:
    return b'{"value":%d}' % counts[0], b""


def _picture(counts: Sequence[int]) -> Reply:
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"><text y="9">%d</text></svg>'
    return svg % counts[0], b""


def _refused(error: ServiceError, language: str) -> Response:
    status = 400 if isinstance(error, BadRequest) else error.status
    return Response(status, orjson.dumps({"error": str(error)}))


def _object(name: str, type: str) -> AnswerSchema:
    members = {name: {"type": type}}
    closed = {"required": [name], "additionalProperties": False}
    return AnswerSchema({"type": "object", "properties": members, **closed})


REFUSED = dict.fromkeys({*REFUSAL_STATUSES} - {200}, _object("error", "string"))
VARIANT = replace(
    WALINE, headers=SHARED, envelope=NO_ENVELOPE, refusals=Refusals(_refused, "HitsError", REFUSED)
)
HITS = (Prefix("/hits", VARIANT, name="Hits"),)
NO_PREFIX = (Prefix("", VARIANT, name="Hits"),)
VALUE = _object("value", "integer")
PICTURE = AnswerSchema({"type": "string"}, type=b"image/svg+xml")
# What all of them have in common.
_row = partial(Row, noun="counting", fields=HIT, who=ANYBODY)
ROWS = (
    _row("hits_count", "GET", "/count", answer=VALUE, is_unsafe=True, fast=count, prefixes=HITS),
    _row("hits_value", "GET", "/value{page:path}.json", answer=VALUE, fast=value, prefixes=HITS),
    _row(
        "hits_badge",
        "GET",
        "/badge{page:path}.svg",
        answer=PICTURE,
        is_unsafe=True,
        fast=badge,
        prefixes=HITS,
    ),
    _row("hits_beacon", "POST", "/hit", answer=VALUE, fast=count, prefixes=NO_PREFIX),
)
TABLE = (*routes.TABLE, *ROWS)

"""Vercount's API, and what it has in common with busuanzi's (busuanzi.py): four numbers for an
address.

`POST /api/v2/log` with `{"url": "https://blog.example/a/?b#c"}` counts a view of `/a/`, and `GET`
with `?url=` reads. `/log` and `/api/v1/log` answer three of the numbers without an envelope. Which
site an address is of is not looked at: SECURE_DOMAINS says whose pages may call. What else clients
send is ignored, such as `isNewUv`: who is new is known here, or is not told.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import orjson

from ...domain.counters import VIEWS
from ...domain.site import Site
from ...domain.totals import Totals
from ...errors import ServiceError
from ...http.envelope import NO_ENVELOPE, Envelope
from ...http.params import MAX_PATH, Form
from ...http.response import SHARED, Response
from ..dialects import REFUSAL_STATUSES, WALINE, Refusals
from ..endpoint import Row
from ..fast import Answering, CounterChange, CounterRead, FastRequest
from ..fields import ONLY_TRUE, Fields, FromSite, Given, Text
from ..prefixes import Prefix
from ..schemas import AnswerSchema
from ..who import ANYBODY

# Of a whole address: a page's own part is as short as any path.
MAX_ADDRESS = 8_192
_ADDRESS = re.compile(r"https?://[^/?#]+(?P<path>[^?#]*)", re.IGNORECASE)
Numbers = dict[str, int]
# Makes an answer's data, or a finished one, of the four numbers.
Say = Callable[[Numbers], object]


@dataclass(frozen=True, slots=True)
class Address(Text):
    """The page, by its whole address: what is read is the path by which it is counted."""

    limit: int | FromSite = MAX_ADDRESS

    def read(self, form: Form, site: Site) -> str | None:
        # A class with slots is made anew by its decorator, which super() does not know.
        address = Text.read(self, form, site)
        if not address:
            return address
        found = _ADDRESS.match(address)
        if not found:
            form.wrong(self.name, f"{self.name} need a whole address, with http:// or https://")
            return None
        page = site.page_of(found["path"] or "/")
        # As it is counted: a browser's address has nine characters for one of Chinese.
        if len(page) > MAX_PATH:
            form.wrong(
                self.name, f"{self.name} should have a path of at most {MAX_PATH} characters"
            )
        return page


@dataclass(frozen=True, slots=True)
class View:
    """With `asks_visitors` the answer has the page's own, which hardly a page shows."""

    page: str
    asks_visitors: bool = False


def counted(site: Site, page: str, say: Say) -> FastRequest:
    """Counts a view."""
    return CounterChange(site, [(page, VIEWS, 1)], _answering(site, page, say))


def looked_up(site: Site, page: str, say: Say) -> FastRequest:
    """Reads, and counts nothing."""
    names = site.counters.names([page], [VIEWS])
    return CounterRead(site, names, _answering(site, page, say))


def _answering(site: Site, page: str, say: Say) -> Answering:
    of_page = page if say is every else ""

    def answer(counts: list[int]) -> object:
        totals = site.totals.known(of_page)
        if totals is None:
            return _found(site, of_page, counts[0], say)
        return say(_numbers(counts[0], totals))

    return answer


async def _found(site: Site, page: str, views: int, say: Say) -> object:
    """The same for the first who asks in a minute."""
    return say(_numbers(views, await site.totals.find(page)))


def _numbers(views: int, totals: Totals) -> Numbers:
    """The site's are older than the page's, and yet no page has more than its site."""
    one = 1 if views and totals.keeps_visitors else 0
    return {
        "site_pv": max(totals.site_views, views),
        "site_uv": max(totals.site_visitors, totals.page_visitors, one),
        "page_pv": views,
        "page_uv": totals.page_visitors,
    }


NAMES = ("site_uv", "site_pv", "page_pv")


def some(numbers: Numbers) -> Numbers:
    """Those that there were first."""
    return {name: numbers[name] for name in NAMES}


def every(numbers: Numbers) -> Numbers:
    return numbers


def object_of(**members: str) -> AnswerSchema:
    """`members` are the types by name."""
    properties = {name: {"type": type} for name, type in members.items()}
    closed = {"required": [*members], "additionalProperties": False}
    return AnswerSchema({"type": "object", "properties": properties, **closed})


def status_of(error: ServiceError) -> int:
    """Waline tells wrong fields, and what the rules of a site refuse, with 200."""
    return 400 if error.status == 200 else error.status


def _refused(error: ServiceError, language: str) -> Response:
    return Response(status_of(error), orjson.dumps({"error": str(error)}))


def _refused_by_status(error: ServiceError, language: str) -> Response:
    status = status_of(error)
    told = {"status": "error", "message": str(error), "code": status}
    return Response(status, orjson.dumps(told))


# Every refusal has a status of its own.
STATUSES = {400, *REFUSAL_STATUSES} - {200}
FIRST = replace(
    WALINE,
    headers=SHARED,
    envelope=NO_ENVELOPE,
    refusals=Refusals(
        _refused, "Vercount1Error", dict.fromkeys(STATUSES, object_of(error="string"))
    ),
)
SECOND = replace(
    FIRST,
    envelope=Envelope(b'{"status":"success","message":"ok","data":', b"}"),
    refusals=Refusals(
        _refused_by_status,
        "Vercount2Error",
        dict.fromkeys(STATUSES, object_of(status="string", message="string", code="integer")),
    ),
)
PREFIXES_1 = (Prefix("", FIRST, name="Vercount"), Prefix("/api/v1", FIRST, name="Vercount"))
PREFIXES_2 = (Prefix("/api/v2", SECOND, name="Vercount"),)

_ASKED = (True, "true")
_ADDRESS_FIELD = Address("url", "The page's whole address", required="url can not be blank")
_FIELDS = Fields(lambda found, request, site: View(found["url"]), (_ADDRESS_FIELD,))
_FIELDS_2 = Fields(
    lambda found, request, site: View(found["url"], found["page_uv"] in _ASKED),
    (_ADDRESS_FIELD, Given("page_uv", "Are the page's visitors wanted, too?", *ONLY_TRUE)),
)
THREE = object_of(**dict.fromkeys(NAMES, "integer"))
FOUR = object_of(**dict.fromkeys((*NAMES, "page_uv"), "integer"))
# What all of them have in common.
_row = partial(Row, path="/log", who=ANYBODY)


def _said(parsed: View) -> Say:
    return every if parsed.asks_visitors else some


def _rows(
    version: str, fields: Fields, answer: AnswerSchema, prefixes: tuple[Prefix, ...]
) -> list[Row]:
    return [
        _row(
            f"vercount_{version}_read",
            "GET",
            fields=replace(fields, source="query"),
            answer=answer,
            fast=lambda site, parsed: looked_up(site, parsed.page, _said(parsed)),
            prefixes=prefixes,
        ),
        _row(
            f"vercount_{version}_count",
            "POST",
            fields=fields,
            answer=answer,
            fast=lambda site, parsed: counted(site, parsed.page, _said(parsed)),
            prefixes=prefixes,
        ),
    ]


# The page's visitors are there where they are wanted.
THREE_OR_FOUR = AnswerSchema({**FOUR.data, "required": [*NAMES]})
ROWS = (*_rows("1", _FIELDS, THREE, PREFIXES_1), *_rows("2", _FIELDS_2, THREE_OR_FOUR, PREFIXES_2))

"""Vercount's API, and what it shares with busuanzi's (busuanzi.py): four numbers for an address.

`POST /api/v2/log` with `{"url": "https://blog.example/a/?b#c"}` counts a view of `/a/`, and `GET`
with `?url=` reads. `/log` and `/api/v1/log` answer three of the numbers without an envelope. The
site of an address is ignored: SECURE_DOMAINS decides whose pages may call. Other fields of clients
are ignored, such as `isNewUv`: new visitors are recognised here, or not counted.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import orjson

from ..counters import VIEWS
from ..counting.fast import CounterChange, CounterRead
from ..errors import ServiceError
from ..http.envelope import Envelope
from ..http.params import MAX_PATH, Form
from ..http.response import Reply, Response, tagged_by_body
from ..limits.clients import PoolClient
from ..site import Site
from ..statistics.noun import Statistics
from ..statistics.totals import Totals
from ..table.context import ParseContext
from ..table.fast import Answering, FastRequest
from ..table.fields import ONLY_TRUE, Fields, FromSettings, Given, Text
from ..table.prefixes import Prefix
from ..table.rows import Row
from ..table.schemas import NUMBER, TEXT, AnswerSchema, object_of
from ..table.who import ANYBODY
from .refusals import error_schema, in_json, status_of, variant_of

# Of a whole address: a page's own part is as short as any path.
MAX_ADDRESS = 8_192
_ADDRESS = re.compile(r"https?://[^/?#]+(?P<path>[^?#]*)", re.IGNORECASE)
# Templates of three of the numbers, which there were first, and of all four.
THREE_JSON = b'{"site_uv":%(site_uv)d,"site_pv":%(site_pv)d,"page_pv":%(page_pv)d}'
FOUR_JSON = THREE_JSON[:-1] + b',"page_uv":%(page_uv)d}'


@dataclass(frozen=True, slots=True)
class Address(Text):
    """The page, by its whole address, of which the counted path is used."""

    limit: int | FromSettings = MAX_ADDRESS

    def read(self, form: Form, context: ParseContext) -> str | None:
        # A class with slots is made again by its decorator, which super() does not know.
        address = Text.read(self, form, context)
        if not address:
            return address
        match = _ADDRESS.match(address)
        if not match:
            form.wrong(self.name, f"{self.name} need a whole address, with http:// or https://")
            return None
        page = context.page_of(match["path"] or "/")
        # As it is counted: a browser's address has nine characters for one of Chinese.
        if len(page) > MAX_PATH:
            form.wrong(
                self.name, f"{self.name} should have a path of at most {MAX_PATH} characters"
            )
        return page


@dataclass(frozen=True, slots=True)
class View:
    """`json` is a template of the answer."""

    page: str
    json: bytes


def counted(site: Site, page: str, json: bytes) -> FastRequest:
    """Counts a view, and answers by a template that may name each of the four numbers."""
    return CounterChange(
        site.counting, [(page, VIEWS, 1)], _answering(site.statistics, page, json, _untagged)
    )


def looked_up(site: Site, page: str, json: bytes) -> FastRequest:
    """Reads, and counts nothing."""
    names = site.counting.counters.names([page], [VIEWS])
    return CounterRead(
        site.counting, names, _answering(site.statistics, page, json, tagged_by_body)
    )


def _untagged(body: bytes) -> Reply:
    return body, b""


def _answering(
    statistics: Statistics, page: str, json: bytes, made: Callable[[bytes], Reply]
) -> Answering:
    # Hardly a page shows its own visitors, which take longer to find.
    of_page = page if b"%(page_uv)d" in json else ""

    def answer(counts: list[int]) -> object:
        totals = statistics.totals.known(of_page)
        if totals is None:
            return partial(found, counts[0])
        return made(json % _numbers(counts[0], totals))

    async def found(views: int, client: PoolClient) -> Reply:
        """The numbers of the site, for the first request of a minute."""
        return made(json % _numbers(views, await statistics.totals.find(of_page)))

    return answer


def _numbers(views: int, totals: Totals) -> Mapping[bytes, int]:
    """The site's are older than the page's, and yet no page has more than its site."""
    site_views, site_visitors, page_visitors, keeps_visitors = totals
    one = 1 if views and keeps_visitors else 0
    return {
        b"site_pv": max(site_views, views),
        b"site_uv": max(site_visitors, page_visitors, one),
        b"page_pv": views,
        b"page_uv": page_visitors,
    }


NAMES = ("site_uv", "site_pv", "page_pv")


def _refused_by_status(error: ServiceError, language: str) -> Response:
    status = status_of(error)
    body = {"status": "error", "message": str(error), "code": status}
    return Response(status, orjson.dumps(body))


FIRST = variant_of("Vercount1Error", in_json, error_schema())
ENVELOPE = Envelope(b'{"status":"success","message":"ok","data":', b"}")
SECOND = replace(
    variant_of(
        "Vercount2Error",
        _refused_by_status,
        AnswerSchema(object_of(status=TEXT, message=TEXT, code=NUMBER)),
    ),
    envelope=ENVELOPE,
)
PREFIXES_1 = (Prefix("", FIRST, name="Vercount"), Prefix("/api/v1", FIRST, name="Vercount"))
PREFIXES_2 = (Prefix("/api/v2", SECOND, name="Vercount"),)

_ASKED = (True, "true")
_JSON_2 = {False: ENVELOPE.around(THREE_JSON), True: ENVELOPE.around(FOUR_JSON)}
_ADDRESS_FIELD = Address("url", "The page's whole address", required="url can not be blank")
_FIELDS = Fields(
    lambda values, request, context: View(values["url"], THREE_JSON), (_ADDRESS_FIELD,)
)
_FIELDS_2 = Fields(
    lambda values, request, context: View(values["url"], _JSON_2[values["page_uv"] in _ASKED]),
    (_ADDRESS_FIELD, Given("page_uv", "Are the page's visitors wanted, too?", ONLY_TRUE)),
)
THREE = AnswerSchema(object_of(**dict.fromkeys(NAMES, NUMBER)))
FOUR = AnswerSchema(object_of(**dict.fromkeys((*NAMES, "page_uv"), NUMBER)))
# What all of them have in common.
_row = partial(Row, noun="", path="/log", who=ANYBODY)


def _rows(
    version: str, fields: Fields[View], answer: AnswerSchema, prefixes: tuple[Prefix, ...]
) -> list[Row]:
    return [
        _row(
            f"vercount_{version}_read",
            "GET",
            fields=replace(fields, source="query"),
            answer=answer,
            fast=lambda site, parsed: looked_up(site, parsed.page, parsed.json),
            prefixes=prefixes,
        ),
        _row(
            f"vercount_{version}_count",
            "POST",
            fields=fields,
            answer=answer,
            fast=lambda site, parsed: counted(site, parsed.page, parsed.json),
            prefixes=prefixes,
        ),
    ]


# The page's visitors are there where they are wanted.
THREE_OR_FOUR = AnswerSchema({**FOUR.data, "required": [*NAMES]})
ROWS = (*_rows("1", _FIELDS, THREE, PREFIXES_1), *_rows("2", _FIELDS_2, THREE_OR_FOUR, PREFIXES_2))

"""GoatCounter's protocol: its count.js reports views, and its visitor counter shows them.

`/count?p=/a` counts a view, as a picture or as a beacon, and answers a GIF of one pixel; the reason
of a rejection is in the header X-Goatcounter. `/counter/<page>.json` returns the number as text,
which its clients expect, and `.svg` and `.html` show it; the page TOTAL is the whole site. Events,
which are not views of pages, are answered and dropped.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from ..counters import VIEWS
from ..counting.api import MAX_REFERRER, Aside
from ..counting.clients import NO_CLIENT
from ..counting.fast import CounterChange, CounterRead
from ..counting.rules import Counting
from ..errors import BadRequest, Forbidden, ServiceError
from ..http.params import MAX_PATH, RawRequest
from ..http.response import SHARED, Reply, Response, tagged_by_body
from ..model import Caller, StatisticsPublic
from ..pages import without_tracking
from ..site import Site
from ..statistics.answers import once_a_minute
from ..statistics.api import DAY_LENGTH, check_day, day_of
from ..statistics.calendar import MAX_DAYS, days_between
from ..statistics.reports import Reports
from ..statistics.sources import campaign_of, origin_of
from ..table.answers import Answered
from ..table.context import ParseContext
from ..table.fast import FastRequest, answered
from ..table.fields import Fields, FieldValues, PagePath, Text
from ..table.prefixes import Prefix
from ..table.rows import Row
from ..table.schemas import AnswerSchema, object_of
from ..table.who import ANYBODY
from .images import GIF, PIXEL, SVG, Look, badge
from .refusals import NOT_FOUND, error_schema, in_json, status_of, variant_of

HTML = b"text/html; charset=utf-8"
TOTAL = "TOTAL"
# What `b` may be: a browser, or the kind of bot that a page's script has found it to be.
BROWSER, FIRST_BOT, LAST_BOT = 0, 150, 999
# Names of a first day, and how many days before today that is.
PERIODS = {"week": 7, "month": 30, "year": 365}
_DIGITS = re.compile("[0-9]{1,3}")


# Counting.


@dataclass(frozen=True, slots=True)
class Hit:
    page: str
    referrer: str
    is_bot: bool
    is_event: bool

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Hit":
        referrer, is_event = values["r"], values["e"] not in (None, "", "0", "false")
        is_text = isinstance(referrer, str) and len(referrer) <= MAX_REFERRER
        is_bot = int(values["b"] or 0) >= FIRST_BOT
        page = without_tracking(values["p"])
        campaign = campaign_of(request.query.get("p"))
        return cls(page, campaign or (referrer if is_text else ""), is_bot, is_event)


def _check_bot(value: str, context: ParseContext) -> str:
    number = int(value) if _DIGITS.fullmatch(value) else -1
    is_known = number == BROWSER or FIRST_BOT <= number <= LAST_BOT
    return "" if is_known else f"b need {BROWSER}, or {FIRST_BOT} to {LAST_BOT}"


# Its script's other parameters are ignored: the title, the screen, the query of the address, and a
# random word against caches.
HIT = Fields(
    Hit.of,
    (
        PagePath("p", "The page", required="p can not be blank"),
        Aside("r", "The page that led there"),
        Aside("e", "`true` for an event, which is not counted"),
        Text("b", "0, or from 150 on what kind of bot it is", 3, check=_check_bot),
    ),
    source="query",
)


def count(counting: Counting, parsed: Hit) -> FastRequest:
    if parsed.is_event:
        return FastRequest(_pixel)
    origin = origin_of(parsed.referrer, counting.own_hosts, is_automated=parsed.is_bot)
    return CounterChange(counting, [(parsed.page, VIEWS, 1)], _pixel, origin)


def _pixel(counts: Sequence[int]) -> Reply:
    return PIXEL, b""


def _refused_as_picture(error: ServiceError, language: str) -> Response:
    """A page's script does not show it: the reason is for people who debug."""
    reason = " ".join(str(error).split()).encode("ascii", "replace")
    return Response(status_of(error), PIXEL, [(b"x-goatcounter", reason)], type=GIF)


# Reading.


@dataclass(frozen=True, slots=True)
class Wanted:
    """`pages` are the spellings that it may be counted by; none of them for the site. The period is
    of days such as 20261123; without one, it is ever."""

    pages: Sequence[str]
    period: tuple[int, int] | None

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Wanted":
        sent = without_tracking(values["page"])
        pages = () if sent == TOTAL else tuple(dict.fromkeys(map(context.page_of, _spelled(sent))))
        return cls(pages, _period(values["start"], values["end"], context))


def _spelled(page: str) -> Iterator[str]:
    """All spellings of a path: GoatCounter's clients leave out slashes at either end and
    capitals."""
    for spelling in (page, page.lower()):
        bare = spelling.strip("/")
        yield from (spelling, f"/{bare}", *((f"/{bare}/", f"{bare}/") if bare else ()))


def _period(start: str, end: str, context: ParseContext) -> tuple[int, int] | None:
    if not (start or end):
        return None
    statistics = context.days
    last = day_of(end) or statistics.today()
    if start in PERIODS:
        first = statistics.days_before(statistics.today(), PERIODS[start])
    else:
        first = day_of(start) or statistics.days_before(last, MAX_DAYS - 1)
    if first > last:
        raise BadRequest({"start": "start need a day that is not behind end"})
    try:
        days_between(first, last)
    except ValueError:
        raise BadRequest({"start": f"start should be at most {MAX_DAYS} days before end"}) from None
    return first, last


def _check_start(value: str, context: ParseContext) -> str:
    if value in PERIODS or not check_day("start", value, context):
        return ""
    return f"start need {', '.join(PERIODS)}, or a day such as 2026-11-23"


WANTED = Fields(
    Wanted.of,
    (
        Text("page", "The page, or TOTAL", MAX_PATH, required="page can not be blank"),
        Text(
            "start", "The first day, or `week`, `month` or `year`", DAY_LENGTH, check=_check_start
        ),
        Text("end", "The last day; else today", DAY_LENGTH, check=partial(check_day, "end")),
    ),
    source="query",
)
# Makes an answer of views and visitors: None for a missing number of visitors.
Shown = Callable[[int, int | None], Reply | Response]


def ever(show: Shown, counting: Counting, parsed: Wanted) -> FastRequest | None:
    """None if statistics are needed, which take several round trips."""
    if parsed.period or not parsed.pages:
        return None
    names = counting.counters.names(parsed.pages, [VIEWS])
    return CounterRead(counting, names, lambda counts: show(sum(counts), None))


async def told(show: Shown, site: Site, parsed: Wanted, caller: Caller) -> Answered:
    """Raises Forbidden for statistics that are not public."""
    if fast := ever(show, site.counting, parsed):
        return await answered(fast, NO_CLIENT, caller)
    _require(site, "all" if parsed.period else "totals", caller)
    if not parsed.period:
        return show(await site.statistics.views_ever.total(), None)
    make = partial(_of_period, site.statistics.reports, parsed.pages or (None,), *parsed.period)
    key = "goatcounter", *parsed.pages, *parsed.period
    body = await once_a_minute(site.statistics, key, make, caller)
    return show(*orjson.loads(body))


async def _of_period(reports: Reports, paths: Sequence[str | None], first: int, last: int) -> bytes:
    """Views and visitors, as JSON."""
    found = [await reports.report(path, first, last) for path in paths]
    views, visitors = (sum(each.views for each in found), sum(each.visitors for each in found))
    return orjson.dumps([views, visitors if reports.keeps_visitors else None])


def _require(site: Site, level: StatisticsPublic, caller: Caller) -> None:
    if not site.statistics.reports.is_on:
        raise Forbidden("The statistics of this site are off (STATISTICS)")
    if not (site.accounts.rules.shows(level) or caller.viewer.is_administrator):
        name = "start and end" if level == "all" else TOTAL
        raise Forbidden(f"{name} need STATISTICS_PUBLIC={level}")


def _as_json(views: int, visitors: int | None) -> Reply | Response:
    """Numbers as text: GoatCounter's have a space at each thousand, so clients take digits only."""
    counts = {"count": str(views), "count_unique": str(views if visitors is None else visitors)}
    if not views:
        missing = {"error": "page has no counter", **counts}
        return Response(NOT_FOUND, orjson.dumps(missing))
    return tagged_by_body(orjson.dumps(counts))


def _as_svg(views: int, visitors: int | None) -> Reply:
    return tagged_by_body(badge(Look("views"), str(views)))


def _as_html(views: int, visitors: int | None) -> Reply:
    page = b'<!doctype html><html lang="en"><meta charset="utf-8"><title>Views</title><p>Views: %d'
    return tagged_by_body(page % views)


_NUMBER: dict[str, Any] = {"type": "string", "pattern": "^[0-9]+$"}
_NUMBERS: dict[str, Any] = {"count": _NUMBER, "count_unique": _NUMBER}
_NUMBERS_ANSWER = AnswerSchema(object_of(**_NUMBERS))
_PICTURE = AnswerSchema({"type": "string"}, type=GIF)
# Pages that embed only pictures with this header may show it, too.
_HEADERS = (*SHARED, (b"cross-origin-resource-policy", b"cross-origin"))
COUNT = (
    Prefix(
        "",
        variant_of("GoatCounterPicture", _refused_as_picture, _PICTURE, _HEADERS),
        name="GoatCounter",
    ),
)
COUNTER = (
    Prefix(
        "/counter",
        variant_of("GoatCounterError", in_json, error_schema(**_NUMBERS), _HEADERS),
        name="GoatCounter",
    ),
)


def _reading(ending: str, show: Shown, answer: AnswerSchema) -> Row:
    return Row(
        f"goatcounter_{ending}",
        "GET",
        f"/{{page:path}}.{ending}",
        WANTED,
        ANYBODY,
        answer,
        partial(told, show),
        is_picture=ending == "svg",
        fast=lambda site, parsed: ever(show, site.counting, parsed),
        prefixes=COUNTER,
        noun="",
    )


_counting = partial(
    Row,
    noun="counting",
    path="/count",
    fields=HIT,
    who=ANYBODY,
    answer=_PICTURE,
    fast=count,
    prefixes=COUNT,
)
ROWS = (
    _counting("goatcounter_count", "GET", is_unsafe=True),
    _counting("goatcounter_beacon", "POST", is_unsafe=True),
    _reading("json", _as_json, _NUMBERS_ANSWER),
    _reading("svg", _as_svg, AnswerSchema({"type": "string"}, type=SVG)),
    _reading("html", _as_html, AnswerSchema({"type": "string"}, type=HTML)),
)

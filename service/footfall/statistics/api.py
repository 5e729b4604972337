"""How often a page, or the whole site, was viewed: by day, or by hour."""

import asyncio
import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import date
from functools import partial
from io import StringIO

import orjson
from orjson import Fragment

from ..errors import BadRequest
from ..http.params import RawRequest
from ..http.response import Reply, tagged_by_body
from ..model import PUBLIC, Caller
from ..table.answers import JsonObject
from ..table.context import ParseContext
from ..table.fields import NO_FIELDS, Choice, Fields, FieldValues, Flag, Integer, PagePath, Text
from ..table.prefixes import API, UI
from ..table.rows import Declared
from ..table.schemas import (
    FLAG,
    MAYBE,
    NUMBER,
    TEXT,
    AnswerSchema,
    list_of,
    map_of,
    object_of,
    or_null,
)
from ..table.who import ADMINISTRATOR, PUBLIC_SERIES, PUBLIC_TOP, PUBLIC_TOTALS
from .agents import CLASSES
from .answers import once_a_minute
from .audience import told
from .calendar import MAX_DAYS, date_of, day_number, days_between
from .most_read import MAX_PAGES, ORDERS, PERIODS
from .noun import Statistics
from .reports import Report, Reports
from .source_views import MAX_SOURCES

# /statistics alone is a page (owner/public_page.py).
operation = Declared[Statistics]("statistics", API, UI)

# Default period in days.
DAYS = 14
# Characters of a day such as 2026-11-23.
DAY_LENGTH = 10
UNITS = ("day", "hour")
# What spreadsheets take for the start of a formula (OWASP, CSV Injection).
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
PERIOD_NAMES = tuple(map(str, PERIODS))


@dataclass(frozen=True, slots=True)
class Series:
    """The views of a page, or with `path` None of the site, from one day such as 20261123 to
    another."""

    path: str | None
    unit: str
    first: int
    last: int

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Series":
        return cls(values["path"], values["unit"], *period_of(values, context))


def period_of(values: FieldValues, context: ParseContext) -> tuple[int, int]:
    """The first and the last day that `from` and `to` name. Raises BadRequest."""
    last = day_of(values["to"]) or context.days.today()
    first = day_of(values["from"]) or context.days.days_before(last, DAYS - 1)
    if first > last:
        raise BadRequest({"from": "from need a day that is not behind to"})
    try:
        days_between(first, last)
    except ValueError:
        raise BadRequest({"from": f"from should be at most {MAX_DAYS} days before to"}) from None
    return first, last


def day_of(text: str) -> int:
    """0 for none."""
    return day_number(date.fromisoformat(text)) if text else 0


def is_day(text: str) -> bool:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return False
    # Other formats are read as well, such as 2026-W48-1.
    return day.isoformat() == text and 1973 < day.year < 9999


def check_day(name: str, text: str, context: ParseContext) -> str:
    return "" if is_day(text) else f"{name} need a day such as 2026-11-23"


def _day_field(name: str, doc: str) -> Text:
    return Text(name, doc, DAY_LENGTH, check=partial(check_day, name))


DAY_FIELDS = (
    _day_field("from", "The first day, such as 2026-11-23; else two weeks before the last"),
    _day_field("to", "The last day; else today"),
)
SERIES = Fields(
    Series.of,
    (
        PagePath("path", "The page; without it, the whole site", default=None),
        Choice("unit", "Views of each", "day", UNITS, is_word=True),
        *DAY_FIELDS,
    ),
    source="query",
)


VIEWS_ANSWER = AnswerSchema(
    object_of(
        path=MAYBE,
        unit=TEXT,
        to=TEXT,
        total=NUMBER,
        views=list_of(
            object_of(at=TEXT, views=NUMBER, _optional={"people": NUMBER, "visitors": NUMBER})
        ),
        **{"from": TEXT},
        _optional={
            "people": NUMBER,
            "visitors": NUMBER,
            "is_exact": FLAG,
            "bots": list_of(object_of(views=NUMBER, as_people=FLAG, **{"class": TEXT})),
            "sources": list_of(object_of(host=TEXT, views=NUMBER, at_most=NUMBER)),
            "audience": map_of(list_of(object_of(name=TEXT, visitors=NUMBER))),
        },
    )
)


@operation("statistics_read", "GET", "/statistics", SERIES, PUBLIC_SERIES, VIEWS_ANSWER)
async def series(statistics: Statistics, parsed: Series, caller: Caller) -> Fragment:
    """Each day of the period, or the hours that are known in which there were views."""
    make = partial(_series, statistics.reports, parsed)
    return Fragment(await once_a_minute(statistics, ("series", *astuple(parsed)), make, caller))


async def _series(reports: Reports, parsed: Series) -> bytes:
    first, last = parsed.first, parsed.last
    body = {
        "path": parsed.path,
        "unit": parsed.unit,
        "from": date_of(first).isoformat(),
        "to": date_of(last).isoformat(),
    }
    if parsed.unit == "hour":
        views = await reports.hours(parsed.path, first, last)
        hours = [{"at": _hour(at), "views": n} for at, n in sorted(views.items()) if n]
        return orjson.dumps(body | {"total": sum(views.values()), "views": hours})
    # Together, since each is a round trip to Redis or two.
    report, sources, audience = await asyncio.gather(
        reports.report(parsed.path, first, last),
        reports.sources_of(parsed.path, first, last),
        reports.audience(parsed.path, first, last),
    )
    rows = [source._asdict() for source in sources[:MAX_SOURCES]]
    classes = {
        kind: [{"name": name, "visitors": n} for name, n in told(names)]
        for kind, names in audience.items()
    }
    return orjson.dumps(body | _of_days(report) | {"sources": rows, "audience": classes})


def _of_days(report: Report) -> dict[str, object]:
    return {
        "total": report.views,
        "people": report.people,
        "visitors": report.visitors,
        "is_exact": report.is_exact,
        "views": [
            {
                "at": date_of(at).isoformat(),
                "views": day.views,
                "people": report.people_of(day),
                "visitors": day.visitors,
            }
            for at, day in report.days.items()
        ],
        "bots": [
            each | {"as_people": each["class"] in report.as_people}
            for each in _ranked(report.bots, "class")
        ],
    }


def _ranked(numbers: Mapping[str, int], name: str) -> list[dict[str, object]]:
    ranked = sorted(numbers.items(), key=lambda each: (-each[1], each[0]))
    return [{name: key, "views": number} for key, number in ranked]


CSV_ANSWER = AnswerSchema({"type": "string"}, type=b"text/csv; charset=utf-8")


@operation("statistics_csv", "GET", "/statistics.csv", SERIES, PUBLIC_SERIES, CSV_ANSWER)
async def ascsv_of(statistics: Statistics, parsed: Series, caller: Caller) -> Reply:
    """Days as a table, for spreadsheets."""
    make = partial(csv_of_series, statistics.reports, parsed)
    return tagged_by_body(await once_a_minute(statistics, ("csv", *astuple(parsed)), make, caller))


async def csv_of_series(reports: Reports, parsed: Series) -> bytes:
    first, last = parsed.first, parsed.last
    if parsed.unit == "hour":
        hours = await reports.hours(parsed.path, first, last)
        rows = [("hour", "views"), *((_hour(at), n) for at, n in sorted(hours.items()) if n)]
        return csv_of(rows)
    report = await reports.report(parsed.path, first, last)
    days = (
        (date_of(at).isoformat(), day.views, report.people_of(day), day.visitors)
        for at, day in report.days.items()
    )
    return csv_of([("day", "views", "people", "visitors"), *days])


def csv_of(rows: Iterable[Sequence[object]]) -> bytes:
    """A table in which no cell is a formula, since strangers name pages."""
    text = StringIO()
    csv.writer(text).writerows([*map(_cell, row)] for row in rows)
    return text.getvalue().encode()


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULAS) else value


@dataclass(frozen=True, slots=True)
class Top:
    """`days` is 0 for ever."""

    by: str
    days: int
    count: int

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Top":
        return cls(values["by"], int(values["days"]), values["count"])


TOP = Fields(
    Top.of,
    (
        Choice("by", "The order", "views", ORDERS, is_word=True),
        Choice("days", "Of the last 24 hours, or so many days; 0 is ever", "7", PERIOD_NAMES),
        Integer("count", "How many pages", 10, MAX_PAGES),
    ),
    source="query",
)


TOP_ANSWER = AnswerSchema(
    object_of(
        by=TEXT,
        days=NUMBER,
        pages=list_of(
            object_of(
                path=TEXT,
                views=NUMBER,
                people=or_null(NUMBER),
                visitors=NUMBER,
                comments=NUMBER,
                is_exact=FLAG,
            )
        ),
    )
)


@operation("statistics_top", "GET", "/statistics/top", TOP, PUBLIC_TOP, TOP_ANSWER)
async def top(statistics: Statistics, parsed: Top, caller: Caller) -> Fragment:
    make = partial(_top, statistics.reports, parsed)
    return Fragment(await once_a_minute(statistics, ("top", *astuple(parsed)), make, caller))


async def _top(reports: Reports, parsed: Top) -> bytes:
    pages = [page._asdict() for page in await reports.top(parsed.by, parsed.days, parsed.count)]
    return orjson.dumps({"by": parsed.by, "days": parsed.days, "pages": pages})


TOTALS_ANSWER = AnswerSchema(
    object_of(
        views=or_null(NUMBER),
        comments=NUMBER,
        today=or_null(
            object_of(views=NUMBER, people=or_null(NUMBER), visitors=or_null(NUMBER), is_exact=FLAG)
        ),
    )
)


@operation(
    "statistics_totals", "GET", "/statistics/totals", NO_FIELDS, PUBLIC_TOTALS, TOTALS_ANSWER
)
async def totals(statistics: Statistics, parsed: None, caller: Caller) -> Fragment:
    """Views and comments ever, and today's; None for values that are not stored."""

    async def make() -> bytes:
        return orjson.dumps(
            {
                "views": await statistics.views_ever.total(),
                "comments": await statistics.comments_total(PUBLIC),
                "today": await _today(statistics.reports),
            }
        )

    return Fragment(await once_a_minute(statistics, ("totals",), make, caller))


async def _today(reports: Reports) -> JsonObject | None:
    if not reports.is_on:
        return None
    day = await reports.today_of_site()
    return {
        "views": day.views,
        "people": day.people if reports.keeps_visitors else None,
        "visitors": day.visitors if reports.keeps_visitors else None,
        "is_exact": day.is_exact,
    }


PAGE = Fields(
    lambda values, request, context: str(values["path"]),
    (PagePath("path", "The page", default=None, required="path can not be blank"),),
    source="query",
)


ERASED_PAGE_ANSWER = AnswerSchema(object_of(path=TEXT))


@operation("statistics_erase", "DELETE", "/statistics", PAGE, ADMINISTRATOR, ERASED_PAGE_ANSWER)
async def erase(statistics: Statistics, parsed: str, caller: Caller) -> JsonObject:
    await statistics.reports.erase(parsed)
    return {"path": parsed}


@dataclass(frozen=True, slots=True)
class AsPeople:
    bots: str
    is_people: bool

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "AsPeople":
        return cls(values["class"], bool(values["as_people"]))


AS_PEOPLE = Fields(
    AsPeople.of,
    (
        Choice("class", "A class of bots", "", CLASSES, is_word=True),
        Flag("as_people", "Whether its views count as people's, the past ones as well"),
    ),
)


AS_PEOPLE_ANSWER = AnswerSchema(list_of(TEXT))


@operation(
    "statistics_people", "PUT", "/statistics/people", AS_PEOPLE, ADMINISTRATOR, AS_PEOPLE_ANSWER
)
async def count_as_people(statistics: Statistics, parsed: AsPeople, caller: Caller) -> list[str]:
    """All classes that count as people then."""
    return sorted(await statistics.reports.count_as_people(parsed.bots, is_people=parsed.is_people))


def _hour(at: int) -> str:
    """Such as 2026-11-23T16, in the site's time zone."""
    day, hour = divmod(at, 100)
    return f"{date_of(day).isoformat()}T{hour:02}"

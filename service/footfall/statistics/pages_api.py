"""The pages of a period with their numbers, for an owner's tools and spreadsheets."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..hosts import MAX_HOST_CHARACTERS
from ..http.params import RawRequest
from ..http.response import Reply, tagged_by_body
from ..limits.clients import pool_client_of
from ..model import Caller
from ..table.answers import JsonObject
from ..table.context import ParseContext
from ..table.fields import Choice, Fields, FieldValues, Integer, Paths, Text, copied
from ..table.prefixes import API, UI
from ..table.rows import Declared
from ..table.schemas import FLAG, NUMBER, TEXT, AnswerSchema, list_of, object_of, or_null
from ..table.who import ADMINISTRATOR, MODERATOR
from .api import CSV_ANSWER, DAY_FIELDS, csv_of, period_of
from .calendar import date_of, period_before
from .most_read import MAX_CANDIDATES
from .noun import Statistics
from .page_list import COLUMNS, ListedPage, PageList

operation = Declared[Statistics]("statistics", API, UI)

MAX_WORDS = 200
DEFAULT_COUNT = 100


@dataclass(frozen=True, slots=True)
class PagesAsked:
    first: int
    last: int
    by: str
    words: str
    offset: int
    count: int

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "PagesAsked":
        period = period_of(values, context)
        return cls(*period, values["by"], values["q"], values["offset"], values["count"])


PAGES = Fields(
    PagesAsked.of,
    (
        *DAY_FIELDS,
        Choice("by", "The column by which they are ordered", "views", COLUMNS, is_word=True),
        Text("q", "Only pages with these words in their path", MAX_WORDS),
        Integer("offset", "How many to leave out first", 0, MAX_CANDIDATES),
        Integer("count", "How many pages", DEFAULT_COUNT, MAX_CANDIDATES),
    ),
    source="query",
)


PAGES_ANSWER = AnswerSchema(
    object_of(
        to=TEXT,
        total=NUMBER,
        is_whole=FLAG,
        pages=list_of(
            object_of(
                path=TEXT,
                views=NUMBER,
                people=NUMBER,
                visitors=NUMBER,
                comments=NUMBER,
                before=or_null(NUMBER),
            )
        ),
        **{"from": TEXT},
    )
)


@operation("statistics_pages", "GET", "/statistics/pages", PAGES, ADMINISTRATOR, PAGES_ANSWER)
async def pages(statistics: Statistics, parsed: PagesAsked, caller: Caller) -> JsonObject:
    """The pages viewed in a period, each beside its views by people in as many days before."""
    listed, found = await _found(statistics, parsed, caller)
    some = found[parsed.offset : parsed.offset + parsed.count]
    return {
        "from": date_of(parsed.first).isoformat(),
        "to": date_of(parsed.last).isoformat(),
        "total": len(found),
        "is_whole": listed.is_whole,
        "pages": [page._asdict() for page in some],
    }


@operation("statistics_pages_csv", "GET", "/statistics/pages.csv", PAGES, ADMINISTRATOR, CSV_ANSWER)
async def as_table(statistics: Statistics, parsed: PagesAsked, caller: Caller) -> Reply:
    """All of them, for spreadsheets."""
    _, found = await _found(statistics, parsed, caller)
    return tagged_by_body(csv_of([ListedPage._fields, *found]))


MAX_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class SourceAsked:
    host: str
    first: int
    last: int

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "SourceAsked":
        return cls(values["host"], *period_of(values, context))


SOURCE = Fields(
    SourceAsked.of,
    (
        Text("host", "As in `sources`", MAX_HOST_CHARACTERS, required="host can not be blank"),
        *DAY_FIELDS,
    ),
    source="query",
)
SOURCE_ANSWER = AnswerSchema(
    object_of(
        to=TEXT,
        is_whole=FLAG,
        pages=list_of(object_of(path=TEXT, views=NUMBER, at_most=NUMBER)),
        sources=list_of(object_of(host=TEXT, views=NUMBER, at_most=NUMBER)),
        **{"from": TEXT},
    )
)


@operation("statistics_source", "GET", "/statistics/source", SOURCE, ADMINISTRATOR, SOURCE_ANSWER)
async def of_source(statistics: Statistics, parsed: SourceAsked, caller: Caller) -> JsonObject:
    """To which pages visitors came from a host, and from which of its pages."""
    async with statistics.pool.turn(pool_client_of(caller)):
        found = await statistics.reports.referrals(parsed.first, parsed.last)
        pages, sources = found.pages_of(parsed.host), found.origins_in(parsed.host)
    return {
        "from": date_of(parsed.first).isoformat(),
        "to": date_of(parsed.last).isoformat(),
        "is_whole": found.is_whole,
        "pages": [
            {"path": each.host, "views": each.views, "at_most": each.at_most}
            for each in pages[:MAX_LISTED]
        ],
        "sources": [source._asdict() for source in sources[:MAX_LISTED]],
    }


# For the queue of the admin UI.
of_ui = Declared[Statistics]("statistics", UI)

TITLES = copied(
    lambda paths: tuple(paths or ()),
    (Paths("path", "The pages, by one parameter each"),),
    source="query",
)


@of_ui("statistics_titles", "GET", "/pages/titles", TITLES, MODERATOR, AnswerSchema(list_of(TEXT)))
async def titles(statistics: Statistics, paths: Sequence[str], caller: Caller) -> list[str]:
    """The title of each page, "" for one that is not known yet."""
    known = await statistics.titles.of(paths)
    return [known.get(path, "") for path in paths]


async def _found(
    statistics: Statistics, parsed: PagesAsked, caller: Caller
) -> tuple[PageList, Sequence[ListedPage]]:
    reports, first, last = statistics.reports, parsed.first, parsed.last
    async with statistics.pool.turn(pool_client_of(caller)):
        listed = await reports.pages(first, last, period_before(first, last))
        return listed, listed.chosen(parsed.by, parsed.words)

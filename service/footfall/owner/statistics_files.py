"""/ui/statistics.csv: the tables of the statistics page, whole, for spreadsheets."""

from ..http.response import PRIVATE, Response
from ..statistics.api import Series, csv_of, csv_of_series
from ..statistics.audience import told
from ..statistics.page_list import ListedPage
from .overview import readable
from .page_table import chosen_order, titles_of
from .pages import Asked
from .periods import NotAPeriod, Span, span_of
from .source_page import host_in

CSV = b"text/csv; charset=utf-8"
TABLES = ("days", "hours", "pages", "sources", "source", "audience")


async def show(asked: Asked) -> Response:
    """The table that the query names, of the days that it names, and of a page if it names one.
    Raises StoreUnavailable."""
    statistics = asked.site.statistics.reports
    try:
        span = span_of(asked.query, statistics.today(), asked.words)
    except NotAPeriod as error:
        return _said(400, str(error))
    name = asked.query.get("table", "")
    name = name if name in TABLES else TABLES[0]
    file = b'attachment; filename="%b.csv"' % name.encode()
    content = await readable(_content(name, asked, span))
    if content is None:
        return _said(503, asked.words.say("unreadable"))
    return Response(200, content, [(b"content-disposition", file)], common=PRIVATE, type=CSV)


def _said(status: int, text: str) -> Response:
    return Response(status, text.encode(), common=PRIVATE, type=b"text/plain; charset=utf-8")


async def _content(name: str, asked: Asked, span: Span) -> bytes:
    statistics = asked.site.statistics.reports
    if name == "pages":
        pages = await statistics.pages(span.first, span.last, span.before)
        titles = await titles_of(asked, pages)
        found = pages.chosen(chosen_order(asked), asked.query.get("words", ""), titles)
        listed = ((*page, titles.get(page.path, "")) for page in found)
        return csv_of([(*ListedPage._fields, "title"), *listed])
    path = asked.query.get("path") or None
    if name == "sources":
        sources = await statistics.sources_of(path, span.first, span.last)
        return csv_of([("host", "views", "at_most"), *sources])
    if name == "source":
        referrals = await statistics.referrals(span.first, span.last)
        return csv_of([("path", "views", "at_most"), *referrals.pages_of(host_in(asked))])
    if name == "audience":
        audience = await statistics.audience(None, span.first, span.last)
        rows = ((kind, *each) for kind, names in audience.items() for each in told(names))
        return csv_of([("kind", "name", "visitors"), *rows])
    unit = "hour" if name == "hours" else "day"
    return await csv_of_series(statistics, Series(path, unit, span.first, span.last))

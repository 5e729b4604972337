"""/ui/source: the pages of the site that readers came to from one source."""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from ..hosts import MAX_HOST_CHARACTERS
from ..http.params import MAX_PATH
from ..statistics.referrals import Referrals
from ..statistics.source_views import Source
from .day_table import SourceRow, shown, source_row
from .overview import readable
from .pages import Asked
from .periods import DAYS, Span, asked_span

SHOWN_PAGES, SHOWN_ORIGINS = 100, 20


class PageRow(NamedTuple):
    """A page of the site; `address` leads to its statistics."""

    name: str
    title: str
    address: str
    views: int
    is_exact: bool


async def show(asked: Asked) -> tuple[str, Mapping[str, object]]:
    statistics = asked.site.statistics.reports
    span, problem = asked_span(asked.query, statistics.today(), asked.words)
    host = host_in(asked)
    is_asked = statistics.is_on and not problem
    found = await readable(statistics.referrals(span.first, span.last)) if is_asked else None
    pages = found.pages_of(host)[:SHOWN_PAGES] if found else []
    titles = await readable(asked.site.statistics.titles.of([page.host for page in pages])) or {}
    values = await asyncio.to_thread(_values, found, pages, titles, asked, span)
    return "source.html", {**values, "problem": problem, "is_on": statistics.is_on}


def host_in(asked: Asked) -> str:
    """The source that the query names."""
    return asked.query.get("host", "")[:MAX_HOST_CHARACTERS]


def _values(
    found: Referrals | None,
    pages: list[Source],
    titles: Mapping[str, str],
    asked: Asked,
    span: Span,
) -> dict[str, object]:
    host = host_in(asked)
    fields = {"host": host, **span.fields()}
    origins = found.origins_in(host) if found else []
    named = source_row(Source(host, 0, 0), asked.words)
    # A host alone says no more than the page's title.
    has_origins = any(origin.host != host for origin in origins)
    return {
        "name": named.name,
        "host": named.host,
        "days": 0 if span.is_chosen else span.days,
        "span": span.name(asked.words),
        "choices": [(days, asked.link("source", host=host, days=str(days))) for days in DAYS],
        "found": found,
        "pages": [_page(page, titles, asked, span) for page in pages],
        "origins": [_origin(each) for each in origins[:SHOWN_ORIGINS]] if has_origins else [],
        "csv": asked.link("statistics.csv", table="source", **fields),
        "whole": asked.link("statistics", **span.fields()),
    }


def _page(page: Source, titles: Mapping[str, str], asked: Asked, span: Span) -> PageRow:
    path = page.host
    address = asked.link("statistics", path=path, **span.fields()) if len(path) <= MAX_PATH else ""
    return PageRow(shown(path), shown(titles.get(path, "")), address, page.views, page.is_exact)


def _origin(origin: Source) -> SourceRow:
    return SourceRow(shown(origin.host), "", origin.views, origin.is_exact)

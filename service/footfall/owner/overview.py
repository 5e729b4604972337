"""What an owner looks at every morning, and the days of one page.

Each part is read at the same time as the others, and is bounded: none goes through all pages.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from typing import NamedTuple, TypeVar

from ..comments.noun import Comments
from ..comments.rules.comments import recent
from ..counting.rules import Counting
from ..driver.replies import ErrorReply
from ..model import PUBLIC, Lookups, StoredComment
from ..notifications.noun import Notifications
from ..notifications.store.outbox import Undelivered
from ..owner import counter_search
from ..site import Site
from ..statistics.calendar import date_of
from ..statistics.live_views import LivePage
from ..statistics.most_read import TopPage
from ..statistics.page_list import PageList
from ..statistics.reports import Report, Reports
from ..statistics.source_views import Source
from .periods import Span, last_days

T = TypeVar("T")

PERIOD_DAYS = 30
RANKED_PAGES = 10
RANKED_DAYS = 7
# A page rises by its views of the last hours; the page shows those of a day.
RISING_DAYS = 1
# Of the small line beside a page.
LINE_DAYS = 14
NEWEST_COMMENTS = 5
FAILED_ENTRIES = 5


class RankedPage(NamedTuple):
    """A page, and its views by people on each of the last LINE_DAYS."""

    page: TopPage
    days: Sequence[int]


class Held(NamedTuple):
    """Pending comments, and spam written since yesterday started."""

    waiting: int
    spam_lately: int


class NewestComments(NamedTuple):
    comments: Sequence[StoredComment]
    live: Lookups


class FailedNotifications(NamedTuple):
    """How many notifications failed, and the newest of them."""

    number: int
    newest: Sequence[Undelivered]


@dataclass(frozen=True, slots=True)
class Overview:
    """A part is None if its keys are damaged; so are the first five without statistics."""

    # Of twice PERIOD_DAYS.
    report: Report | None
    # Of RANKED_DAYS.
    pages: PageList | None
    rising: Sequence[RankedPage] | None
    # Viewed in the last minutes.
    live: Sequence[LivePage] | None
    # Referring hosts -> views of RANKED_DAYS.
    sources: Sequence[Source] | None
    held: Held | None
    newest: NewestComments | None
    failed: FailedNotifications | None


@dataclass(frozen=True, slots=True)
class History:
    """A page's days or the site's, those that they are compared with, and hours such as 2026112316.

    `audience` is the site's. `count` is the page's counter, which may have started
    before.
    """

    report: Report | None
    before: Report | None
    hours: dict[int, int] | None
    sources: Sequence[Source] | None
    audience: Mapping[str, Counter[str]] | None
    notes: Mapping[int, str] | None
    count: int | None


async def overview(site: Site) -> Overview:
    """Raises StoreUnavailable."""
    statistics = site.statistics.reports
    last = statistics.today()
    first = statistics.days_before(last, 2 * PERIOD_DAYS - 1)
    is_kept = statistics.is_on
    traffic, others = await asyncio.gather(
        asyncio.gather(
            readable(statistics.report(None, first, last) if is_kept else _none()),
            readable(_pages(statistics, last) if is_kept else _none()),
            readable(_ranked(statistics, "rising", RISING_DAYS) if is_kept else _none()),
            readable(site.statistics.live.pages() if is_kept else _none()),
            readable(_sources(statistics, RANKED_DAYS, last) if is_kept else _none()),
        ),
        asyncio.gather(
            readable(_held(site)),
            readable(_newest(site.comments)),
            readable(_failed(site.notifications)),
        ),
    )
    return Overview(*traffic, *others)


async def history(site: Site, path: str | None, span: Span) -> History:
    """A period of a page, or with None of the site. Raises StoreUnavailable."""
    statistics = site.statistics.reports
    (report, before, hours), (sources, audience, notes, count) = await asyncio.gather(
        asyncio.gather(
            readable(statistics.report(path, span.first, span.last)),
            readable(statistics.report(path, *span.before) if span.before else _none()),
            readable(statistics.hours(path, span.first, span.last)),
        ),
        asyncio.gather(
            readable(statistics.sources_of(path, span.first, span.last)),
            readable(statistics.audience(path, span.first, span.last)),
            readable(statistics.notes(span.first, span.last)),
            readable(_count(site.counting, path) if path is not None else _none()),
        ),
    )
    return History(report, before, hours, sources, audience, notes, count)


async def _none() -> None:
    """For a part that was not requested."""


async def readable(part: Awaitable[T | None]) -> T | None:
    """None where a key is damaged: it hides no other part of the page."""
    try:
        return await part
    except ErrorReply:
        return None


async def _ranked(statistics: Reports, by: str, days: int) -> list[RankedPage]:
    pages = await statistics.top(by, days, RANKED_PAGES)
    lines = await statistics.most_read.series([page.path for page in pages], LINE_DAYS)
    return [RankedPage(*page) for page in zip(pages, lines, strict=True)]


async def _held(site: Site) -> Held:
    statistics = site.statistics.reports
    yesterday = date_of(statistics.days_before(statistics.today(), 1))
    started = datetime.combine(yesterday, time(), statistics.calendar.zone)
    held, spam = await asyncio.gather(
        site.comments.index.held(), site.comments.index.spam_since(int(started.timestamp() * 1000))
    )
    return Held(held[0], spam)


async def _newest(comments: Comments) -> NewestComments:
    newest = await comments.recent.newest(NEWEST_COMMENTS, PUBLIC)
    _, shown, live = await recent(comments, newest.ids, NEWEST_COMMENTS, PUBLIC)
    return NewestComments(shown, live)


async def _failed(notifications: Notifications) -> FailedNotifications:
    depth, newest = await asyncio.gather(
        notifications.outbox.depth(), notifications.outbox.undelivered(FAILED_ENTRIES)
    )
    return FailedNotifications(depth.undelivered, newest)


async def _pages(statistics: Reports, last: int) -> PageList:
    span = last_days(RANKED_DAYS, last)
    return await statistics.pages(span.first, span.last, span.before)


async def _sources(statistics: Reports, days: int, last: int) -> Sequence[Source]:
    return await statistics.sources(statistics.days_before(last, days - 1), last)


async def _count(counting: Counting, path: str) -> int:
    counts = await counter_search.of_path(counting.counters, ("time",), path)
    return counts["time"]

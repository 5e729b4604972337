"""Do the days of a page add up to its counter, as lua/counters/count.lua maintains them, and are
the numbers of its visitors and bots possible?

The newest month of a page is checked, if that is this one or the last: it starts with the count
before it, so earlier months are not part of the sum. Around the end of a month a service whose
clock is behind still counts in the one before: then the two months add up together.

A service without statistics gives its views no day, and notes in which month it ran: in such a
month views without a day are not a problem.
"""

import time
from collections.abc import AsyncIterator, Iterable, Iterator
from datetime import UTC, datetime

from ..driver.keys import GROUPS
from ..plurals import number_of
from ..statistics.page_views import Month
from ..statistics.reports import MOST_EXACT
from .dataset import DataSet

VIEWS = b"time "
DAY_SECONDS = 86_400
PAGES_A_TRIP = 100


class ViewsCheck:
    """With `repair`, views that have no day are noted as such."""

    def __init__(self, data: DataSet, *, repair: bool) -> None:
        self._data = data
        self._repair = repair
        self._months = _months_around(time.time())
        # The last month in which views were counted that have no day.
        self._undated_in = 0

    async def is_needed(self) -> bool:
        """Were statistics stored lately? If not, no page has to be checked."""
        self._undated_in = await self._data.views_ever.undated_in()
        sizes = await self._sizes_of_site()
        return any(size or size is None for size in sizes.values())

    async def problems_of_site(self) -> AsyncIterator[str]:
        for key, size in (await self._sizes_of_site()).items():
            if size is None:
                yield f"{key}: it is not a hash"

    async def _sizes_of_site(self) -> dict[str, int | None]:
        """Lengths of the hashes with the site's numbers; None for another type."""
        keys = self._data.keys
        every = [keys.share(group) for group in range(GROUPS)]
        every += [keys.site_views(month) for month in self._months]
        commands = (("HLEN", key) for key in every)
        sizes = await self._data.redis.ask_each(*commands, of_masters=True)
        return dict(zip(every, sizes, strict=True))

    async def problems(self, counters: Iterable[bytes]) -> AsyncIterator[str]:
        """Of the pages that have these counters."""
        views = (name.removeprefix(VIEWS) for name in counters if name.startswith(VIEWS))
        paths = [path.decode(errors="replace") for path in views]
        for first in range(0, len(paths), PAGES_A_TRIP):
            async for text in self._problems(paths[first : first + PAGES_A_TRIP]):
                yield text

    async def _problems(self, paths: list[str]) -> AsyncIterator[str]:
        views = await self._data.views.of_pages(paths, self._months)
        for path, page in zip(paths, views, strict=True):
            if page.is_damaged:
                # Its sums mean nothing then.
                yield f"views of {path!r}: they cannot be read"
                continue
            month = page.newest
            more = page.unexplained if month else 0
            if month and (more < 0 or (more > 0 and self._undated_in < month.number)):
                yield await self._told(path, month, more)
            for each in page.months.values():
                for text in _impossible(each):
                    yield f"views of {path!r}: {text}"

    async def _told(self, path: str, month: Month, more: int) -> str:
        repaired = ""
        if self._repair:
            await self._data.views.undate(path, month.number, more)
            repaired = " (repaired)"
        views = number_of(abs(more), "view")
        what = f"{views} without a day" if more > 0 else f"the days have {views} too many"
        return f"views of {path!r}: {what}{repaired}"


def _impossible(month: Month) -> Iterator[str]:
    """Every visitor and every bot of a day must have viewed the page at least once. A violation is
    reported and not fixed: which of the numbers is wrong is unknown."""
    for day in sorted({*month.visitors, *month.bots}):
        by_bots = sum(month.bots.get(day, {}).values())
        by_people = month.days.get(day, 0) - by_bots
        visitors = month.visitors.get(day, 0)
        at = 100 * month.number + day
        if by_people < 0:
            yield f"on {at} bots had {number_of(-by_people, 'view')} more than there were"
        elif by_people < visitors <= MOST_EXACT:
            yield f"on {at} {number_of(visitors, 'visitor')} had {number_of(by_people, 'view')}"


def _months_around(now: float) -> tuple[int, ...]:
    """This month in any time zone, and the last one, such as 202611."""
    at = (now + days * DAY_SECONDS for days in (1, -1, -32))
    moments = (datetime.fromtimestamp(second, UTC) for second in at)
    return tuple({moment.year * 100 + moment.month: None for moment in moments})

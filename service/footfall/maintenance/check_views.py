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
from typing import NamedTuple

from ..driver.keys import GROUPS
from ..plurals import number_of
from ..statistics.page_views import Month
from ..statistics.reports import MOST_EXACT
from .dataset import DataSet

VIEWS = b"time "
DAY_SECONDS = 86_400
PAGES_A_TRIP = 100
# A day such as 20261123 divided by this is its month. A month has so many days at least.
DAYS_OF_MONTH, LEAST_DAYS = 100, 28


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
        """Problems of the pages that have these counters."""
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
            for text in _impossible(page.months.values()):
                yield f"views of {path!r}: {text}"

    async def _told(self, path: str, month: Month, more: int) -> str:
        repaired = ""
        if self._repair:
            await self._data.views.undate(path, month.number, more)
            repaired = " (repaired)"
        views = number_of(abs(more), "view")
        what = f"{views} without a day" if more > 0 else f"the days have {views} too many"
        return f"views of {path!r}: {what}{repaired}"


class _Seen(NamedTuple):
    """A page's numbers of a day."""

    views: int
    by_bots: int
    visitors: int

    def with_those_of(self, other: "_Seen") -> "_Seen":
        return _Seen(*map(sum, zip(self, other, strict=True)))

    @property
    def people(self) -> int:
        return self.views - self.by_bots

    @property
    def is_possible(self) -> bool:
        """Every visitor and every bot must have viewed the page at least once."""
        return self.people >= (self.visitors if self.visitors <= MOST_EXACT else 0)


def _impossible(months: Iterable[Month]) -> Iterator[str]:
    """A violation is reported and not fixed: which of the numbers is wrong is unknown. At midnight
    a service whose clock is behind notes visitors of the day before, while another one counts views
    of the next day already: then both days together are right."""
    days = {at: seen for month in months for at, seen in _days_of(month)}
    for at in sorted(days):
        day, after = days[at], days.get(at + 1)
        if at % DAYS_OF_MONTH >= LEAST_DAYS:
            after = after or days.get(_first_after(at))
        if day.is_possible or (after and day.with_those_of(after).is_possible):
            continue
        if day.people < 0:
            yield f"on {at} bots had {number_of(-day.people, 'view')} more than there were"
        else:
            people = number_of(day.people, "view")
            yield f"on {at} {number_of(day.visitors, 'visitor')} had {people}"


def _first_after(at: int) -> int:
    """The first day of the next month."""
    year, month = divmod(at // DAYS_OF_MONTH, 100)
    next = 100 * year + month + 1 if month < 12 else 100 * (year + 1) + 1
    return DAYS_OF_MONTH * next + 1


def _days_of(month: Month) -> Iterator[tuple[int, _Seen]]:
    for day in {*month.days, *month.visitors, *month.bots}:
        by_bots = sum(month.bots.get(day, {}).values())
        seen = _Seen(month.days.get(day, 0), by_bots, month.visitors.get(day, 0))
        yield DAYS_OF_MONTH * month.number + day, seen


def _months_around(now: float) -> tuple[int, ...]:
    """This month in any time zone, and the last one, such as 202611."""
    at = (now + days * DAY_SECONDS for days in (1, -1, -32))
    moments = (datetime.fromtimestamp(second, UTC) for second in at)
    return tuple({moment.year * 100 + moment.month: None for moment in moments})

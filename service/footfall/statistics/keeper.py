"""Keeps the site's statistics up while it runs: the salts of its days, and the numbers of hours
that are over.

Every service does it; doing it twice has no further effect.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

from ..driver.replies import ErrorReply
from ..errors import StoreUnavailable
from . import agents
from .calendar import HOUR_MS, KEPT_HOURS
from .day_lists import DayLists
from .moments import hour_number
from .reports import DAY, DAYS_OF_MONTH, Reports
from .salts import Salts
from .site_store import SiteNumbers, SiteViews

MONTH_MS = DAYS_OF_MONTH * 24 * HOUR_MS
# Of how many days shares of lists may be left: no service may have run on a few of them. Those of
# KEPT_SHARES days are still read.
DAYS_OF_SHARES, KEPT_SHARES = 8, 3
# A starting service waits no longer for the salt.
MAX_START_SECONDS = 1.0


class Keeper:
    """`clock` returns Unix time in ms; days are kept for this many months in addition to their own.

    All coroutines raise StoreUnavailable, and ErrorReply for a damaged key.
    """

    def __init__(
        self,
        site_views: SiteViews,
        reports: Reports,
        clock: Callable[[], int],
        months: int,
        salts: Salts | None = None,
    ) -> None:
        """Without salts no visitors are distinguished."""
        self._site = site_views
        self._most_read = reports.most_read
        self._calendar = reports.calendar
        self._clock = clock
        self._kept_ms = (months + 1) * MONTH_MS
        self._salts = salts
        # The hour up to which this process has stored the site's numbers.
        self._kept_until = 0

    async def start(self) -> None:
        """Before the first view: load what distinguishes visitors, if they are distinguished."""
        if self._salts is None:
            return
        # In a thread, concurrently with Redis's reply.
        loaded = asyncio.create_task(asyncio.to_thread(agents.load))
        # If Redis is unreachable, keeping up retries it.
        with suppress(StoreUnavailable, ErrorReply, TimeoutError):
            await asyncio.wait_for(self.keep_salts(), MAX_START_SECONDS)
        await loaded

    def forget_salts(self) -> None:
        """Forget those of days that are over, also while Redis is unreachable."""
        if self._salts is not None:
            self._salts.forget()

    async def keep_salts(self) -> None:
        """Know the salt of a day before it starts."""
        if self._salts is not None:
            await self._salts.keep_up(self._site)

    async def keep_hours(self) -> None:
        """Once an hour: store the site's numbers of past hours, and remove old shares."""
        now_ms = self._clock()
        now = hour_number(self._calendar.hour_of(now_ms))
        # A clock that was ahead is set back.
        if now == self._kept_until:
            return
        oldest = hour_number(self._calendar.hour_of(now_ms - KEPT_HOURS * HOUR_MS))
        # Later on, those of earlier days are stored.
        last = KEPT_SHARES if self._kept_until else DAYS_OF_SHARES
        days = [Reports.days_before(now // DAY, ago) for ago in range(last + 1)]
        parts: Sequence[Callable[[], Awaitable[None]]] = (
            partial(self._keep_numbers, now, oldest),
            *(
                partial(self._keep_list, lists, days[ago], ago)
                for lists in (self._site.sources, self._site.referrals, self._site.audience)
                for ago in range(1, last + 1)
            ),
            *(partial(self._keep_read, days[ago], ago) for ago in range(last + 1)),
        )
        for part in parts:
            # A damaged key must not stop the others; its readers get an error.
            with suppress(ErrorReply):
                await part()
        self._kept_until = now

    async def _keep_numbers(self, now: int, oldest: int) -> None:
        shares = await self._site.shares()
        await self._site.keep(_before(shares, now), self._kept_ms)
        await self._site.drop(_before(shares, oldest))

    async def _keep_list(self, lists: DayLists, day: int, ago: int) -> None:
        await lists.keep(day, await lists.shares(day), self._kept_ms)
        if ago >= KEPT_SHARES:
            await lists.drop(day)

    async def _keep_read(self, day: int, ago: int) -> None:
        await self._most_read.keep(day)
        if ago >= KEPT_SHARES:
            await self._site.drop_read(day)


def _before(numbers: SiteNumbers, hour: int) -> SiteNumbers:
    """Fields of hours and of days before this hour."""
    day = hour // DAY
    return SiteNumbers(
        {at: views for at, views in numbers.hours.items() if at < hour},
        {at: number for at, number in numbers.visitors.items() if at < day},
        {at: classes for at, classes in numbers.bots.items() if at < day},
    )

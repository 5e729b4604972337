"""The pages viewed in the last minutes.

Once a minute the counts of the pages most viewed today are stored; what they have grown by since is
what was viewed. So a view costs nothing for it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .calendar import MINUTE_MS
from .most_read import MAX_CANDIDATES, MostRead
from .site_store import SiteViews
from .store import Views

LIVE_MINUTES = 5


class LivePage(NamedTuple):
    """A page and its views since the minute that is LIVE_MINUTES ago, bots included."""

    path: str
    views: int


class LiveViews:
    """`clock` returns Unix time in ms. All coroutines raise StoreUnavailable, and ErrorReply for
    damage beyond one list."""

    def __init__(
        self, views: Views, site: SiteViews, most_read: MostRead, clock: Callable[[], int]
    ) -> None:
        self._views = views
        self._site = site
        self._most_read = most_read
        self._clock = clock
        self._kept = 0

    async def keep_up(self) -> None:
        """Once a minute, store the counts, unless another process has."""
        minute = self._clock() // MINUTE_MS
        if minute == self._kept:
            return
        if not await self._site.has_counts(minute):
            counts = await self._counts(await self._candidates())
            await self._site.keep_counts(minute, counts, LIVE_MINUTES)
        self._kept = minute

    async def pages(self) -> list[LivePage]:
        """Pages with views, most viewed first. A page that came up since the last minute is not
        known yet."""
        since = self._clock() // MINUTE_MS - LIVE_MINUTES
        stored = await self._site.kept_counts()
        # Of each page the earliest count.
        before = dict[str, int]()
        for minute in sorted(minute for minute in stored if minute >= since):
            before = {**stored[minute], **before}
        counts = await self._counts(list(before))
        grown = (LivePage(path, counts[path] - count) for path, count in before.items())
        return sorted((page for page in grown if page.views > 0), key=lambda page: -page.views)

    async def _candidates(self) -> list[str]:
        found = await self._most_read.candidates(self._most_read.last_days(1))
        return found.paths(MAX_CANDIDATES)

    async def _counts(self, paths: Sequence[str]) -> dict[str, int]:
        return dict(zip(paths, await self._views.counts(paths), strict=True))

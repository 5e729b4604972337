"""Numbers that other counters show beside a page's own views: the site's views, and visitors of
both.

A view waits for them once a minute at most: they are cached for the rest of it.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from ..permissions import AccountRules
from .minute_cache import MinuteCache
from .reports import Reports
from .views_ever import ViewsEver


class Totals(NamedTuple):
    """Always numbers: 0 for what is not stored, not known yet, or not public."""

    site_views: int = 0
    site_visitors: int = 0
    page_visitors: int = 0
    keeps_visitors: bool = False


class KnownTotals:
    """`clock` returns Unix time in ms; `rules` decide which statistics are public."""

    def __init__(
        self,
        views_ever: ViewsEver,
        statistics: Reports,
        rules: AccountRules,
        clock: Callable[[], int],
        before: tuple[int, int] = (0, 0),
    ) -> None:
        """`before` are the views and visitors that another counter had."""
        self._views_ever = views_ever
        self._statistics = statistics
        self._rules = rules
        self._views_before, self._visitors_before = before
        self._site = MinuteCache(clock)
        # Strangers choose pages: a flood of them must not drop the site's numbers.
        self._pages = MinuteCache(clock)

    def known(self, page: str) -> Totals | None:
        """Without waiting, if they were read in this minute; "" is the site."""
        site: Totals | None = self._site.known("site")
        if not page:
            return site
        visitors: int | None = self._pages.known(page)
        return None if site is None or visitors is None else site._replace(page_visitors=visitors)

    async def find(self, page: str) -> Totals:
        """A page's visitors are those of some fifty keys, so they are found where they are shown.

        Raises StoreUnavailable, and ErrorReply for a damaged key.
        """
        if not page:
            site_alone: Totals = await self._site.find_or_make("site", self._of_site)
            return site_alone
        found: tuple[Totals, int] = await asyncio.gather(
            self._site.find_or_make("site", self._of_site),
            self._pages.find_or_make(page, lambda: self._visitors_of(page)),
        )
        site, visitors = found
        return site._replace(page_visitors=visitors)

    async def _of_site(self) -> Totals:
        if not self._rules.shows("totals"):
            return Totals()
        views, visitors = await asyncio.gather(
            self._views_ever.total(), self._statistics.visitors(None)
        )
        keeps_visitors = self._statistics.keeps_visitors
        return Totals(
            self._views_before + views,
            self._visitors_before + visitors if keeps_visitors else 0,
            keeps_visitors=keeps_visitors,
        )

    async def _visitors_of(self, page: str) -> int:
        """Public for a caller who knows the page: no list reveals its path."""
        return await self._statistics.visitors(page) if self._rules.shows("totals") else 0

"""The titles of pages, which the service reads from the site's own pages.

What a stranger's request calls a page is never shown as its title. A title is read when a list
first shows its page, in the background, and again after a while.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress

from ..driver.replies import ErrorReply
from ..errors import ProviderUnavailable, StoreUnavailable
from ..render.page_address import page_address
from .calendar import DAY_MS
from .site_store import SiteViews

# A page's title is read again after so many days; sooner where there was none.
KEPT_DAYS, RETRY_DAYS = 30, 1
# How many pages are read at a time, and wait for that.
AT_ONCE, MAX_WAITING = 2, 100


class Titles:
    """`site_url` is where pages are; with "" there are no titles. `clock` returns Unix time in
    ms."""

    def __init__(
        self,
        site: SiteViews,
        site_url: str,
        start: Callable[[Coroutine[None, None, None]], None],
        clock: Callable[[], int],
    ) -> None:
        self._site = site
        self._site_url = site_url
        self._start = start
        self._clock = clock
        self._waiting = set[str]()
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def of(self, paths: Iterable[str]) -> Mapping[str, str]:
        """The titles of these pages, as far as they are known; the others are read, the first ones
        first, for the next time. Raises StoreUnavailable, ErrorReply."""
        asked = list(paths) if self._site_url else []
        stored, today = await self._site.titles(asked), self._clock() // DAY_MS
        for path in asked:
            day, title = stored.get(path, (0, ""))
            is_old = today - day >= (KEPT_DAYS if title else RETRY_DAYS)
            if is_old and path not in self._waiting and len(self._waiting) < MAX_WAITING:
                self._waiting.add(path)
                self._start(self._read(path, today))
        return {path: title for path, (_, title) in stored.items() if title}

    async def _read(self, path: str, today: int) -> None:
        # Loaded with the first title, as the client for other servers is.
        from ..outside.page_title import title_of

        try:
            async with self._turns:
                title = await title_of(page_address(path, self._site_url))
        except ProviderUnavailable:
            title = ""
        finally:
            self._waiting.discard(path)
        # It is read again, if it could not be stored.
        with suppress(StoreUnavailable, ErrorReply):
            await self._site.note_title(path, today, title)

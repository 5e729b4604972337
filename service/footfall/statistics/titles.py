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
# How long an email waits for the title of its page.
PATIENCE_SECONDS = 10


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
            if self._is_due(path, today - day, title):
                self._start(self._read_behind(path, today))
        return {path: title for path, (_, title) in stored.items() if title}

    async def of_page(self, path: str) -> str:
        """The title of a page, which is read first if it is not known; "" for none, or if that
        takes too long. Raises StoreUnavailable, ErrorReply."""
        if not self._site_url:
            return ""
        stored, today = await self._site.titles([path]), self._clock() // DAY_MS
        day, title = stored.get(path, (0, ""))
        if self._is_due(path, today - day, title):
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    return await self._read(path, today)
        return title

    def _is_due(self, path: str, days: int, title: str) -> bool:
        """Is it to be read? If so, it waits for that from now on."""
        is_old = days >= (KEPT_DAYS if title else RETRY_DAYS)
        is_due = is_old and path not in self._waiting and len(self._waiting) < MAX_WAITING
        if is_due:
            self._waiting.add(path)
        return is_due

    async def _read_behind(self, path: str, today: int) -> None:
        await self._read(path, today)

    async def _read(self, path: str, today: int) -> str:
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
        return title

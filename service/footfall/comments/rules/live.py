"""Watched pages: their views and the public part of their comments, as both change.

However many clients watch a page, it is read once a second, together with all other watched pages.
Its version also rises with pending comments and by the clock: it only signals that there may be
something new, and watchers do not receive it.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from ...callbacks import awaited
from ...counters import counter_of
from ...counting.store import Counters
from ...driver.replies import ErrorReply
from ...errors import Unavailable
from ...limits.pool import Place
from ...process.process import Process
from ..store.comments import CommentStore

PERIOD_SECONDS = 1.0
# Proxies close a connection that is silent for this long.
SILENT_SECONDS = 15.0
# Then a browser comes back by itself, and may meet another worker.
MAX_SECONDS = 900.0


class Seen(NamedTuple):
    """A page's views, and a number for the public part of its comments."""

    views: int
    comments: int


# Makes that number, of a path's comments that are at least as new as a version.
NumberOf = Callable[[str, int], Awaitable[int]]


class _Page:
    """`shown` is what its watchers have received, None before it was read."""

    def __init__(self, number_of: NumberOf) -> None:
        self.number_of = number_of
        self.watchers = 0
        # The version of its comments when they were looked at last, and their number then.
        self.version = -1
        self.comments = 0
        self.shown: Seen | None = None
        self.changed = asyncio.Event()

    def show(self, shown: Seen) -> None:
        if shown != self.shown:
            self.shown = shown
            self.wake()

    def wake(self) -> None:
        # Each time has its own event, so that nobody has to reset one.
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()


class LivePages:
    def __init__(self, counters: Counters, comments: CommentStore, process: Process) -> None:
        self._counters = counters
        self._comments = comments
        self._start = process.background.start
        self._is_ending = process.draining.is_set
        self._pages: dict[str, _Page] = {}
        # One reader for all, which outlives the last watcher for up to a period.
        self._is_reading = False

    async def watch(
        self, path: str, number_of: NumberOf, place: Place
    ) -> AsyncGenerator[Seen | None]:
        """A page's state whenever it changes, and None in between; it ends after a while, with the
        service, or when its place is evicted. A slow reader misses states in between.

        Raises Unavailable if the page cannot be read at first, ErrorReply if it is damaged.
        """
        page = self._pages.setdefault(path, _Page(number_of))
        if not self._is_reading:
            self._is_reading = True
            self._start(self._keep_reading())
        page.watchers += 1
        try:
            if page.shown is None:
                await self._read(path)
            async for shown in self._changes(page, place):
                yield shown
        finally:
            page.watchers -= 1
            if not page.watchers and self._pages.get(path) is page:
                del self._pages[path]

    async def _changes(self, page: _Page, place: Place) -> AsyncGenerator[Seen | None]:
        until = asyncio.get_running_loop().time() + MAX_SECONDS
        shown = None

        def evict() -> None:
            nonlocal until
            until = 0
            page.wake()

        place.evict = evict
        while asyncio.get_running_loop().time() < until and not self._is_ending():
            changed = page.changed
            if page.shown is not None and page.shown != shown:
                shown = page.shown
                yield shown
                continue
            try:
                async with asyncio.timeout(SILENT_SECONDS):
                    await changed.wait()
            except TimeoutError:
                yield None

    async def _keep_reading(self) -> None:
        """Until the last watcher leaves."""
        try:
            while self._pages and not self._is_ending():
                await asyncio.sleep(PERIOD_SECONDS)
                # All of them join a batch. What cannot be read now is read in a second.
                await asyncio.gather(*map(self._read_again, list(self._pages)))
            # At the end of the service, wake the remaining watchers, so that they end.
            for page in self._pages.values():
                page.changed.set()
        finally:
            self._is_reading = False

    async def _read_again(self, path: str) -> None:
        with suppress(Unavailable, ErrorReply):
            await self._read(path)

    async def _read(self, path: str) -> None:
        (count,), (version,) = await asyncio.gather(
            self._counters.read([counter_of(path)]),
            awaited(partial(self._comments.fetch_version, path)),
        )
        page = self._pages.get(path)
        if page and page.version != version:
            page.comments = await page.number_of(path, version)
            page.version = version
        if page:
            page.show(Seen(count, page.comments))

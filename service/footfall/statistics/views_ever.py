"""The site's views ever, for readers; and which of them have no day."""

from collections.abc import AsyncIterator, Callable
from time import monotonic

from . import ever_store
from .minute_cache import MinuteCache

# Of this many seconds, so that other work goes on.
STEP_SECONDS = 2.0


class ViewsEver:
    """`clock` returns Unix time in ms; `is_dated` if views have a day; otherwise `close_hours`
    closes the open hours of all pages, some a step. All coroutines raise StoreUnavailable, and
    ErrorReply for a damaged key."""

    def __init__(
        self,
        kept: ever_store.EverStore,
        clock: Callable[[], int],
        close_hours: Callable[[], AsyncIterator[None]],
        *,
        is_dated: bool,
    ) -> None:
        self._kept = kept
        self._is_dated = is_dated
        self._close_hours = close_hours
        self._closing: AsyncIterator[None] | None = None
        self._minute = MinuteCache(clock)

    async def total(self) -> int:
        """The sum of all view counters, cached for a minute."""
        total: int = await self._minute.find_or_make("total", self._kept.total)
        return total

    async def keep_up(self) -> None:
        """Every few seconds: note if views have a day. If they have none, they are not of
        the hour that was open."""
        if self._is_dated:
            await self._kept.note_dated()
            return
        await self._kept.note_undated()
        if self._closing or await self._kept.is_dated():
            await self._go_on_closing()

    async def _go_on_closing(self) -> None:
        closing, self._closing = self._closing or self._close_hours(), None
        until = monotonic() + STEP_SECONDS
        async for _ in closing:
            if monotonic() > until:
                self._closing = closing
                return
        await self._kept.note_closed()

"""The site's views ever, for readers."""

from collections.abc import Callable

from . import ever_store
from .minute_cache import MinuteCache


class ViewsEver:
    """`clock` returns Unix time in ms; `is_dated` if views have a day. All coroutines raise
    StoreUnavailable, and ErrorReply for a damaged key."""

    def __init__(
        self, kept: ever_store.ViewsEver, clock: Callable[[], int], *, is_dated: bool
    ) -> None:
        self._kept = kept
        self._is_dated = is_dated
        self._minute = MinuteCache(clock)

    async def total(self) -> int:
        """The sum of all view counters, cached for a minute."""
        total: int = await self._minute.find_or_make("total", self._kept.total)
        return total

    async def keep_up(self) -> None:
        """Every few seconds."""
        if not self._is_dated:
            await self._kept.note_undated()

"""Ensures that views ever are known (statistics/ever_store.py), or not shown."""

from collections.abc import Callable
from secrets import token_hex

from . import ever_store as views_ever
from .minute_cache import MinuteCache

# A service that keeps no sums answers at its next look, a few seconds later (keeping_up.py).
ASKED_MS = 10_000


class ViewsEver:
    """`clock` returns Unix time in ms. All coroutines raise StoreUnavailable, and ErrorReply for a
    damaged key."""

    def __init__(
        self, kept: views_ever.ViewsEver, clock: Callable[[], int], *, is_on: bool
    ) -> None:
        self._kept = kept
        self._clock = clock
        self._is_on = is_on
        self._minute = MinuteCache(clock)
        # The asking service, and since when this process knows.
        self._asking: bytes | None = None
        self._since = 0

    async def total(self) -> int | None:
        """The sum of all view counters; None while it is unknown. It is cached for a minute."""
        if not self._is_on:
            return None
        total: int | None = await self._minute.find_or_make("total", self._kept.total)
        return total

    async def keep_up(self) -> None:
        """Every few seconds."""
        if not self._is_on:
            await self._kept.doubt()
            return
        state = await self._kept.state()
        if state == views_ever.KNOWN:
            return
        if state is None:
            await self._kept.ask(token_hex(8))
        elif state != self._asking:
            self._asking, self._since = state, self._clock()
        elif self._clock() - self._since >= ASKED_MS:
            await self._kept.find(state)

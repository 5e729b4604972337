"""Answers that are as good for the rest of a minute: statistics, for all clients."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any

from .calendar import MINUTE_MS

MAX_KEPT = 1_000


class MinuteCache:
    """`clock` returns Unix time in ms. Concurrent callers wait for the same answer."""

    def __init__(self, clock: Callable[[], int], most: int = MAX_KEPT) -> None:
        self._clock = clock
        self._most = most
        self._minute = 0
        self._made: dict[Hashable, asyncio.Task[Any]] = {}

    def known(self, key: Hashable) -> Any:
        """What is cached, without waiting; None if nothing is of this minute."""
        task = self._made.get(key)
        if task is None or not task.done() or self._clock() // MINUTE_MS != self._minute:
            return None
        return None if task.cancelled() or task.exception() else task.result()

    async def find_or_make(self, key: Hashable, make: Callable[[], Awaitable[Any]]) -> Any:
        """The result of `make`, now or earlier in this minute. Raises its errors."""
        minute = self._clock() // MINUTE_MS
        if minute != self._minute or len(self._made) >= self._most:
            self._made = {}
            self._minute = minute
        made = self._made
        if key not in made:
            made[key] = asyncio.ensure_future(_awaited(make))
        task = made[key]
        try:
            # A cancelled caller does not cancel it for others.
            return await asyncio.shield(task)
        except Exception:
            if made.get(key) is task:
                del made[key]
            raise


async def _awaited(make: Callable[[], Awaitable[Any]]) -> Any:
    return await make()

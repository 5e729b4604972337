"""Is there room for more counters? A limit, or strangers could fill the memory with paths.

Counting them all takes Redis some milliseconds, so it is done once a minute, and again when those
that this process has seen begin since then could have filled what was left.
"""

import asyncio
from collections.abc import Sequence
from itertools import islice

from .batch import Batch
from .connect import Connected
from .keys import Keys

# Buckets that are asked for their size in one go: Redis does nothing else for half a millisecond.
AT_ONCE = 1024
# A full house is counted again so often, whoever knocks.
AGAIN_SECONDS = 1.0


class Room:
    """`limit` is how many counters there may be; 0 is no limit."""

    def __init__(self, redis: Connected, keys: Keys, batch: Batch, limit: int) -> None:
        self._redis = redis
        self._keys = keys
        self._batch = batch
        self._limit = limit
        self._left = limit
        self._begun = 0
        self._counting: asyncio.Task[None] | None = None
        self._counted_at = float("-inf")

    @property
    def is_full(self) -> bool:
        """Perhaps, going by what this process has seen; `admits` knows."""
        return self._limit > 0 and self._batch.begun - self._begun >= self._left

    async def admits(self, names: Sequence[str]) -> bool:
        """Is there room, or are there such counters already? Raises StoreUnavailable."""
        if not self.is_full:
            return True
        if asyncio.get_running_loop().time() - self._counted_at > AGAIN_SECONDS:
            await self.count()
            if not self.is_full:
                return True
        questions = (("HEXISTS", self._keys.counts(name), name) for name in names)
        return all(await self._redis.ask(*questions))

    async def count(self) -> None:
        """Count all counters if there is a limit; those who ask at once share the question."""
        if not self._limit:
            return
        if self._counting is None:
            self._counting = asyncio.get_running_loop().create_task(self._count())
        try:
            await asyncio.shield(self._counting)
        finally:
            if self._counting and self._counting.done():
                self._counting = None

    async def _count(self) -> None:
        self._counted_at = asyncio.get_running_loop().time()
        begun = self._batch.begun
        number = await number_of_counters(self._redis, self._keys)
        self._begun, self._left = begun, self._limit - number


async def number_of_counters(redis: Connected, keys: Keys) -> int:
    """How many there are. Raises StoreUnavailable."""
    names, number = keys.every_counts(), 0
    while part := list(islice(names, AT_ONCE)):
        number += sum(await redis.ask(*(("HLEN", name) for name in part)))
    return number

"""Is there room for more counters? A limit, or strangers could fill the memory with paths.

Counting them all takes Redis a while, so it is done once a minute by one of all services
(census.py), and again when those that this process has seen begin since then could have filled what
was left.
"""

import asyncio
from collections.abc import Sequence

from ..driver.batch import Batcher
from ..driver.client import Connected
from ..driver.keys import Keys, weight
from .census import Census

# A count of the last so many seconds will do.
FRESH_SECONDS = 45.0
# A full house is counted again so often, whoever knocks.
AGAIN_SECONDS = 10.0


class CounterQuota:
    """`limit` is what all counters may weigh (keys.py); 0 is no limit."""

    def __init__(
        self, redis: Connected, keys: Keys, batch: Batcher, census: Census, limit: int
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._batch = batch
        self._census = census
        self._limit = limit
        self._left = limit
        self._begun = 0
        self._counted_at = float("-inf")

    @property
    def is_full(self) -> bool:
        """Perhaps, going by what this process has seen; `allows` knows."""
        return self._limit > 0 and self._batch.begun - self._begun >= self._left

    async def allows(self, names: Sequence[str]) -> bool:
        """Is there room, or are there such counters already? Raises StoreUnavailable."""
        # Trials are bounded by themselves.
        names = [name for name in names if weight(name)]
        if not names or not self.is_full:
            return True
        if asyncio.get_running_loop().time() - self._counted_at > AGAIN_SECONDS:
            await self.count(AGAIN_SECONDS)
            if not self.is_full:
                return True
        return await self.are_known(names)

    async def are_known(self, names: Sequence[str]) -> bool:
        """Are there such counters already, trials aside? Raises StoreUnavailable."""
        names = [name for name in names if weight(name)]
        questions = (("HEXISTS", self._keys.counts(name), name) for name in names)
        return not names or all(await self._redis.ask_masters(*questions))

    async def count(self, fresh_seconds: float = FRESH_SECONDS) -> None:
        """Learn how many counters there are, if there is a limit. Raises StoreUnavailable."""
        if not self._limit:
            return
        self._counted_at = asyncio.get_running_loop().time()
        # What begins meanwhile may be counted twice, and is not missed.
        begun = self._batch.begun
        counted = await self._census.take(fresh_seconds)
        self._begun, self._left = begun, self._limit - counted.weight

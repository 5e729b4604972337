"""COUNTER_LIMIT: without it strangers could fill the memory with counters of invented paths.

To count all counters takes Redis a while, so one of all services does it once a minute (census.py).
It is done again when the new counters that this process has seen since may have used up the rest.
"""

import asyncio
from collections.abc import Sequence

from ..driver.batch import Batcher
from ..driver.client import RedisClient
from ..driver.keys import Keys
from .census import Census

# How old a shared count may be.
FRESH_SECONDS = 45.0
# How old it may be once the quota is used up.
FULL_FRESH_SECONDS = 10.0


class CounterQuota:
    """`limit` is the weight that all counters together may have (driver/keys.py); 0: no limit."""

    def __init__(
        self, redis: RedisClient, keys: Keys, batch: Batcher, census: Census, limit: int
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._batch = batch
        self._census = census
        self._limit = limit
        # At the last count: the weight that was left, and the batch's `new_weight`.
        self._left = limit
        self._new_weight = 0
        self._counted_at = float("-inf")

    @property
    def is_full(self) -> bool:
        """True if the quota may be used up, by what this process knows; `allows` makes sure."""
        return self._limit > 0 and self._batch.new_weight - self._new_weight >= self._left

    async def allows(self, names: Sequence[str]) -> bool:
        """Is there room for these counters, or do all exist already? Raises StoreUnavailable."""
        if not names or not self.is_full:
            return True
        if asyncio.get_running_loop().time() - self._counted_at > FULL_FRESH_SECONDS:
            await self.count(FULL_FRESH_SECONDS)
            if not self.is_full:
                return True
        return await self.are_known(names)

    async def are_known(self, names: Sequence[str]) -> bool:
        """Do all of these counters exist? Raises StoreUnavailable."""
        questions = (("HEXISTS", self._keys.counts(name), name) for name in names)
        return not names or all(await self._redis.ask_masters(*questions))

    async def count(self, fresh_seconds: float = FRESH_SECONDS) -> None:
        """Count all counters, if there is a limit. Raises StoreUnavailable."""
        if not self._limit:
            return
        self._counted_at = asyncio.get_running_loop().time()
        # Read before the census: counters that are created during it may count twice, but no
        # counter is missed.
        new_weight = self._batch.new_weight
        counted = await self._census.take(fresh_seconds)
        self._new_weight, self._left = new_weight, self._limit - counted.weight

"""All counters, some hashes at a time, for whoever looks for some of them by their paths.

There is no index by path or by count: it would take as much memory as the counters.
"""

from collections.abc import Mapping
from itertools import chain

from ..driver.client import RedisClient
from ..driver.keys import Keys
from .counters import walked

# Of one step: with thirty million counters, some 200,000 of them.
STEP_HASHES = 512


class CounterWalk:
    def __init__(self, redis: RedisClient, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    @property
    def hashes(self) -> int:
        """How many there may be; a walk has come to its end there."""
        return self._keys.buckets + sum(map(len, self._keys.every_long().values()))

    async def step(self, first: int) -> Mapping[str, int]:
        """The counts by name in STEP_HASHES hashes from this one on, without damaged ones.

        Raises StoreUnavailable.
        """
        buckets = self._keys.buckets
        names = [
            self._keys.counts_of(number)
            for number in range(first, min(first + STEP_HASHES, buckets))
        ]
        if len(names) < STEP_HASHES:
            long = list(chain.from_iterable(self._keys.every_long().values()))
            names += long[max(0, first - buckets) :][: STEP_HASHES - len(names)]
        found: dict[str, int] = {}
        async for _, counts in walked(self._redis, names):
            for field, count in counts.items():
                if count.isdigit():
                    found[field.decode(errors="replace")] = int(count)
        return found

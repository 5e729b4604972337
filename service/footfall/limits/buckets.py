"""Token buckets: how often an address, an account or a recipient may do something.

Buckets are in Redis, shared by all services. They do not wait for the disk: after a crash a limit
only starts again.

An IPv6 address stands for its /64, of which one line may have 65,536: their /48 has a bucket, too.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from ..callbacks import awaited, ignore
from ..driver.batch import Batcher
from ..driver.keys import Keys
from ..driver.script_calls import CountsCallback, Rate
from ..netaddr import HOMES_IN_A_NETWORK, network_key

# A bucket so large that it never rejects: it lets a client owe any number of tokens.
UNLIMITED_TOKENS = 1_000_000_000


class Bucket(NamedTuple):
    # For what, and whose: two buckets of the same name are the same.
    name: str
    rate: Rate


@lru_cache(64)
def of_a_network(rate: Rate) -> Rate:
    """The rate of a /48, where this is an address's."""
    return Rate(rate.per_second * HOMES_IN_A_NETWORK, rate.capacity * HOMES_IN_A_NETWORK)


def of_client(client: str, rate: Rate, purpose: str = "") -> list[Bucket]:
    """The bucket of a client, as limit_key names it, and that of its /48."""
    buckets = [Bucket(f"{purpose}{client}", rate)]
    if network := network_key(client):
        buckets.append(Bucket(f"{purpose}{network}", of_a_network(rate)))
    return buckets


class TokenBuckets:
    def __init__(self, keys: Keys, batch: Batcher) -> None:
        self._keys = keys
        self._batch = batch

    async def retry_after(self, buckets: Sequence[Bucket], tokens: int = 1) -> int:
        """Take so many tokens of each of these; 0, or the ms until all of them have as many: then
        none is taken. Raises StoreUnavailable."""
        waits = await awaited(partial(self.take, buckets, tokens)) if buckets else [0]
        return waits[0]

    def take(self, buckets: Sequence[Bucket], tokens: int, done: CountsCallback) -> None:
        """Take so many tokens of each bucket, or of none, in one round trip. `done` gets [0], or
        [the ms until they have as many]."""
        if len(buckets) > 1:
            done = partial(self._taken, buckets, tokens, done)
        self._change(buckets, tokens, done)

    def _taken(
        self,
        buckets: Sequence[Bucket],
        tokens: int,
        done: CountsCallback,
        waits: list[int] | Exception,
    ) -> None:
        if isinstance(waits, Exception):
            # Redis may have taken them or not: none are returned.
            return done(waits)
        longest = max(waits)
        if longest:
            each = zip(buckets, waits, strict=True)
            self.give_back([bucket for bucket, wait in each if not wait], tokens)
        done([longest])

    def give_back(self, buckets: Sequence[Bucket], tokens: int = 1) -> None:
        """Return tokens; a full bucket gets no fuller. It does not wait: if this is lost, so are
        the tokens."""
        self._change(buckets, -tokens, ignore)

    def owe(self, buckets: Sequence[Bucket], tokens: int, done: CountsCallback) -> None:
        """Take tokens, even more than there are: the client then owes them. `done` gets [the ms
        until it owes none]."""
        unlimited = [
            Bucket(name, Rate(rate.per_second, UNLIMITED_TOKENS)) for name, rate in buckets
        ]
        self._change(unlimited, tokens, ignore)
        # This is after the other, mostly in the same script call.
        self._change(
            buckets, 0, lambda waits: done([max(waits)] if isinstance(waits, list) else waits)
        )

    def _change(self, buckets: Sequence[Bucket], tokens: int, done: CountsCallback) -> None:
        """`done` gets the ms that each bucket needs until it has the tokens, or an exception once
        all have answered."""
        if len(buckets) == 1:
            (name, rate) = buckets[0]
            return self._batch.take_tokens(self._keys.tokens(name), tokens, rate, done)
        waits = dict[int, list[int] | Exception]()

        def arrived(place: int, wait: list[int] | Exception) -> None:
            waits[place] = wait
            if len(waits) == len(buckets):
                in_order = [waits[each] for each in range(len(buckets))]
                failed = next((each for each in in_order if isinstance(each, Exception)), None)
                done(failed or [each[0] for each in in_order if isinstance(each, list)])

        for place, (name, rate) in enumerate(buckets):
            key = self._keys.tokens(name)
            self._batch.take_tokens(key, tokens, rate, partial(arrived, place))

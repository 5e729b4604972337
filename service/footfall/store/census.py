"""How many counters there are, what they weigh and what they take: all of them counted.

A count asks for the length of every hash there may be: a tenth of a second of Redis at the default
number of buckets, in pieces between which requests get in. So services and workers share it: who
finds one in Redis that is young enough takes that.
"""

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import NamedTuple

from ..driver.client import Connected
from ..driver.keys import Keys
from ..driver.replies import ErrorReply
from ..errors import StoreUnavailable

# Commands in one round trip: a millisecond or two in which a request has to wait.
COMMANDS_A_TRIP = 1_024
# A count is good for so long at most, for whoever shares it.
SHARED_SECONDS = 60.0
# What is weighed in bytes: so many packed hashes and so many of long paths, and so many entries of
# each that MEMORY USAGE looks at.
WEIGHED = 128
SAMPLES = 200


class Counted(NamedTuple):
    """All counters but those of trials.

    `weight` is by what COUNTER_LIMIT allows (keys.py); `bytes_each` is 0 where there are none, and
    -1 where Redis does not say.
    """

    number: int
    weight: int
    bytes_each: float


class Census:
    def __init__(self, redis: Connected, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._counting: asyncio.Task[Counted] | None = None

    async def take(self, fresh_seconds: float = 0.0) -> Counted:
        """Count, unless somebody did so within the last so many seconds; raises StoreUnavailable.

        Those who ask at once share the question.
        """
        if self._counting is None or self._counting.done():
            taking = self._take(fresh_seconds)
            self._counting = asyncio.get_running_loop().create_task(taking)
        return await asyncio.shield(self._counting)

    async def forget(self) -> None:
        """Let whoever asks next count again."""
        await self._redis.change(("DEL", self._keys.site("census")))

    async def _take(self, fresh_seconds: float) -> Counted:
        key = self._keys.site("census")
        if fresh_seconds:
            text, left_ms = await self._redis.ask(("GET", key), ("PTTL", key))
            if text and SHARED_SECONDS - left_ms / 1000 < fresh_seconds:
                number, weight, bytes_each = text.decode().split(" ")
                return Counted(int(number), int(weight), float(bytes_each))
        counted = await self._count()
        said = " ".join(map(str, counted))
        # Whoever shares it only knows less if that cannot be written down.
        with suppress(StoreUnavailable):
            await self._redis.change(("SET", key, said, "PX", round(SHARED_SECONDS * 1000)))
        return counted

    async def _count(self) -> Counted:
        packed, long = self._keys.every_packed(), self._keys.every_long()
        lengths = await self._lengths(packed)
        number = weight = sum(lengths.values())
        long_lengths: dict[str, int] = {}
        for each, names in long.items():
            found = await self._lengths(names)
            long_lengths |= found
            number += sum(found.values())
            weight += sum(found.values()) * each
        return Counted(number, weight, await self._bytes_each(lengths, long_lengths))

    async def _lengths(self, names: Iterable[str]) -> dict[str, int]:
        """Of those that are not empty."""
        rest, found = iter(names), dict[str, int]()
        while part := list(islice(rest, COMMANDS_A_TRIP)):
            lengths = await self._redis.ask(*(("HLEN", name) for name in part))
            found.update((name, n) for name, n in zip(part, lengths, strict=True) if n)
        return found

    async def _bytes_each(self, *kinds: Mapping[str, int]) -> float:
        """What a counter takes, with its share of its hash: of each kind by some of them."""
        total = 0.0
        try:
            for lengths in kinds:
                total += await self._bytes(lengths)
        except (ErrorReply, StoreUnavailable):
            return -1.0
        number = sum(chain.from_iterable(lengths.values() for lengths in kinds))
        return total / max(1, number)

    async def _bytes(self, lengths: Mapping[str, int]) -> float:
        # Evenly over all of them; chance has put the counters there.
        names = list(lengths)[:: math.ceil(len(lengths) / WEIGHED) or 1]
        if not names:
            return 0.0
        questions: list[Sequence[object]] = [
            ("MEMORY", "USAGE", name, "SAMPLES", SAMPLES) for name in names
        ]
        weights = await self._redis.ask(*questions)
        share = sum(lengths[name] for name in names) / sum(lengths.values())
        return sum(each or 0 for each in weights) / share

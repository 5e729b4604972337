"""The census: how many counters there are, their weight, and the memory that they take.

It asks for the length of every hash that may exist, which takes Redis a tenth of a second at the
default number of buckets, in many short steps. So all workers and services share its result, which
is stored in Redis for a minute.
"""

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import NamedTuple

from ..driver.client import RedisClient
from ..driver.keys import Keys
from ..driver.replies import ErrorReply
from ..errors import StoreUnavailable

# Commands in one round trip: a request may have to wait for them for a millisecond or two.
MAX_COMMANDS_A_TRIP = 1_024
# How long the result is stored.
SHARED_SECONDS = 60.0
# Memory is estimated from so many hashes with short names and so many with long ones, and from so
# many entries of each.
MAX_SAMPLED_HASHES = 128
SAMPLED_ENTRIES = 200


class Counted(NamedTuple):
    """All counters.

    `weight` is in the unit of COUNTER_LIMIT (driver/keys.py); `bytes_each` is 0 if there are no
    counters, and -1 if Redis does not answer MEMORY USAGE.
    """

    number: int
    weight: int
    bytes_each: float


class Census:
    def __init__(self, redis: RedisClient, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._counting: asyncio.Task[Counted] | None = None

    async def take(self, fresh_seconds: float = 0.0) -> Counted:
        """Count, or return a stored result that is younger than `fresh_seconds`.

        Calls at the same time share one census. Raises StoreUnavailable.
        """
        if self._counting is None or self._counting.done():
            taking = self._take(fresh_seconds)
            self._counting = asyncio.get_running_loop().create_task(taking)
        return await asyncio.shield(self._counting)

    async def forget(self) -> None:
        """Delete the stored result, so that the next call counts again."""
        await self._redis.change(("DEL", self._keys.site("census")))

    async def _take(self, fresh_seconds: float) -> Counted:
        key = self._keys.site("census")
        if fresh_seconds:
            text, left_ms = await self._redis.ask(("GET", key), ("PTTL", key))
            if text and SHARED_SECONDS - left_ms / 1000 < fresh_seconds:
                number, weight, bytes_each = text.decode().split(" ")
                return Counted(int(number), int(weight), float(bytes_each))
        counted = await self._count()
        text = " ".join(map(str, counted))
        # If it cannot be stored, other services count for themselves.
        with suppress(StoreUnavailable):
            await self._redis.change(("SET", key, text, "PX", round(SHARED_SECONDS * 1000)))
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
        """The numbers of fields of the hashes that are not empty."""
        rest, found = iter(names), dict[str, int]()
        while part := list(islice(rest, MAX_COMMANDS_A_TRIP)):
            lengths = await self._redis.ask(*(("HLEN", name) for name in part))
            found.update((name, n) for name, n in zip(part, lengths, strict=True) if n)
        return found

    async def _bytes_each(self, *kinds: Mapping[str, int]) -> float:
        """Bytes of memory that a counter takes, with its share of its hash, by a sample of each
        kind of hashes."""
        total = 0.0
        try:
            for lengths in kinds:
                total += await self._bytes(lengths)
        except (ErrorReply, StoreUnavailable):
            return -1.0
        number = sum(chain.from_iterable(lengths.values() for lengths in kinds))
        return total / max(1, number)

    async def _bytes(self, lengths: Mapping[str, int]) -> float:
        # Every nth hash; counters are spread over them at random.
        names = list(lengths)[:: math.ceil(len(lengths) / MAX_SAMPLED_HASHES) or 1]
        if not names:
            return 0.0
        commands: list[Sequence[object]] = [
            ("MEMORY", "USAGE", name, "SAMPLES", SAMPLED_ENTRIES) for name in names
        ]
        weights = await self._redis.ask(*commands)
        share = sum(lengths[name] for name in names) / sum(lengths.values())
        return sum(each or 0 for each in weights) / share

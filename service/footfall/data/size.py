"""The number of stored counters and comments, and their memory.

Numbers are exact (counting/quota.py).

Memory is estimated from a sample: the bytes of whole keys divided by the number of counters or
comments in them, so each has its share of its key's overhead. The indexes `mine:<account>` are left
out, since a page does not list the accounts that have one.
"""

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from ..comments.store.indexes import HASHES, INDEXES, STRINGS
from ..counting.quota import CounterNumbers, CounterTotals
from ..driver.client import RedisClient
from ..driver.keys import Keys
from ..driver.replies import ErrorReply
from ..errors import StoreUnavailable
from ..plurals import number_of

# How old a reading may be; and one of nothing, which the first visitor ends.
FRESH_SECONDS, FRESH_EMPTY_SECONDS = 60.0, 1.0
# Commands in one round trip: a request may have to wait for them for a millisecond or two.
MAX_COMMANDS_A_TRIP = 1_024
# The sample: hashes of counters per kind, steps of the SCAN that finds them, pages, and entries per
# page.
MAX_SAMPLED_HASHES = 128
MAX_SCANS = 16
MAX_WEIGHED_PAGES = 128
MAX_WALKED_ENTRIES = 10_000
# Entries of a key that MEMORY USAGE samples: with 0, all of them, a long page would block Redis.
SAMPLED_ENTRIES = 1_000


class Kind(NamedTuple):
    """Their number, and the bytes of Redis's memory for each (0 if unknown: there are none, or none
    was found)."""

    number: int
    bytes_each: float

    def describe(self, one: str) -> str:
        """Such as "1,204,331 counters, about 46 bytes each", of one counter."""
        number = number_of(self.number, one)
        return f"{number}, about {self.bytes_each:,.0f} bytes each" if self.bytes_each else number


class Size(NamedTuple):
    counters: Kind
    comments: Kind

    def __str__(self) -> str:
        kinds = (("counter", self.counters), ("comment", self.comments))
        return (
            "; ".join(kind.describe(name) for name, kind in kinds if kind.number) or "nothing yet"
        )


class Scale:
    """Measures how much is stored. `reading` is the latest result, None if there is none."""

    def __init__(self, redis: RedisClient, keys: Keys, numbers: CounterNumbers) -> None:
        self._redis = redis
        self._keys = keys
        self._numbers = numbers
        self._weighing: asyncio.Task[Size | None] | None = None
        self._weighed_at = -math.inf
        self.reading: Size | None = None

    async def weigh(self) -> Size | None:
        """Measure; None if Redis does not answer in time, or not MEMORY USAGE."""
        self._weighed_at = asyncio.get_running_loop().time()
        self.reading = await self._size()
        return self.reading

    async def refresh(self, wait_seconds: float) -> None:
        """Measure again if the reading is old. It waits `wait_seconds` at most, and the measuring
        continues after that."""
        is_empty = self.reading is not None and not any(kind.number for kind in self.reading)
        fresh_seconds = FRESH_EMPTY_SECONDS if is_empty else FRESH_SECONDS
        is_old = asyncio.get_running_loop().time() - self._weighed_at >= fresh_seconds
        if is_old and (self._weighing is None or self._weighing.done()):
            self._weighing = asyncio.create_task(self.weigh())
        if self._weighing is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._weighing), wait_seconds)

    async def comments(self, wait_seconds: float) -> Kind | None:
        """The latest reading of the comments, after `refresh`."""
        await self.refresh(wait_seconds)
        return self.reading.comments if self.reading else None

    async def _size(self) -> Size | None:
        try:
            async with asyncio.timeout(self._redis.timeout):
                counters = await _counters(self._redis, self._keys, await self._numbers.total())
                comments = await _comments(self._redis, self._keys)
        except (ErrorReply, StoreUnavailable, TimeoutError, ValueError):
            # A ValueError is a damaged number. It must not prevent the start: `footfall check`
            # reports it.
            return None
        return Size(counters, comments)


async def _counters(redis: RedisClient, keys: Keys, counted: CounterTotals) -> Kind:
    """By a sample of each kind of hash: those for short names, which Redis keeps packed, and those
    for long ones."""
    packed, long = await _sampled(redis, keys)
    short = counted.by_kind["counts"]
    total = short * await _bytes_each(redis, packed)
    total += (counted.number - short) * await _bytes_each(redis, long)
    return Kind(counted.number, total / max(1, counted.number))


async def _sampled(redis: RedisClient, keys: Keys) -> tuple[list[str], list[str]]:
    """Hashes of counters with short names and with long ones. Redis lists keys in no order, and
    counters are spread over them at random."""
    packed, long = dict[str, None](), dict[str, None]()
    scans = 0
    async for names in redis.scan(keys.every_counter_key):
        for name in map(bytes.decode, names):
            kind = long if ":long:" in name else packed
            if len(kind) < MAX_SAMPLED_HASHES:
                kind[name] = None
        scans += 1
        if scans == MAX_SCANS or len(packed) == len(long) == MAX_SAMPLED_HASHES:
            break
    return list(packed), list(long)


async def _bytes_each(redis: RedisClient, names: Sequence[str]) -> float:
    """The bytes that a counter takes, by these hashes; 0 if they have none."""
    lengths = await _ask(redis, (("HLEN", name) for name in names))
    return await _weight(redis, names) / max(1, sum(lengths))


async def _comments(redis: RedisClient, keys: Keys) -> Kind:
    approved, waiting, spam, found = await redis.ask(
        ("GET", keys.site("total")),
        ("ZCARD", keys.site("waiting")),
        ("ZCARD", keys.site("spam")),
        ("HRANDFIELD", keys.site("totals"), MAX_WEIGHED_PAGES),
    )
    # fakeredis returns None for an empty hash.
    pages = [page.decode() for page in found or ()]
    number = int(approved or 0) + waiting + spam
    bodies = await _ask(redis, (("HLEN", keys.page(page, "bodies")) for page in pages))
    weighed = _some(dict(zip(pages, bodies, strict=True)))
    parts = (*STRINGS, *HASHES, *INDEXES)
    weight = await _weight(redis, (keys.page(page, part) for page in weighed for part in parts))
    return Kind(number, weight / max(1, sum(weighed.values())))


def _some(lengths: Mapping[str, int]) -> dict[str, int]:
    """The pages of the sample that are not empty, within its limits."""
    chosen: dict[str, int] = {}
    walked = 0
    for name, length in lengths.items():
        if len(chosen) == MAX_WEIGHED_PAGES or walked >= MAX_WALKED_ENTRIES:
            break
        if length:
            chosen[name] = length
            walked += min(length, SAMPLED_ENTRIES)
    return chosen


async def _weight(redis: RedisClient, names: Iterable[str]) -> int:
    """The bytes of memory that these keys take; 0 for a key that does not exist."""
    commands = (("MEMORY", "USAGE", name, "SAMPLES", SAMPLED_ENTRIES) for name in names)
    return sum(size or 0 for size in await _ask(redis, commands))


async def _ask(redis: RedisClient, commands: Iterable[Sequence[object]]) -> list[int]:
    """The replies to any number of commands, in several round trips."""
    rest = iter(commands)
    replies: list[int] = []
    while part := list(islice(rest, MAX_COMMANDS_A_TRIP)):
        replies += await redis.ask(*part)
    return replies

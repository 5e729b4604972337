"""How many counters and comments are stored, how much memory they take, and COUNTER_LIMIT.

Numbers are exact. That of the counters is kept by the scripts that make and remove them, beside
their hashes: one number for each of the 256 groups (driver/keys.py) and kind of hash. So nothing
has to be counted but what older versions have stored, which is done at each start.

Memory is estimated from a sample: the bytes of whole keys divided by the number of counters or
comments in them, so each has its share of its key's own cost. The indexes `mine:<account>` are left
out, since a page does not say which accounts have one.
"""

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from random import randrange
from typing import NamedTuple, TypeVar

from ..driver.client import RedisClient
from ..driver.keys import GROUPS, WEIGHTS, Keys
from ..driver.replies import ErrorReply
from ..driver.scripts import Scripts
from ..errors import StoreUnavailable
from ..plurals import number_of
from .indexes import HASHES, INDEXES, STRINGS

# How old a reading may be.
FRESH_SECONDS = 60.0
# At the limit the numbers are read again at most that often.
FULL_FRESH_SECONDS = 1.0
# Commands in one round trip: a request may have to wait for them for a millisecond or two.
MAX_COMMANDS_A_TRIP = 1_024
# So many groups are counted in one round trip: Redis needs a moment for each.
GROUPS_AT_ONCE = 16
# The sample: so many hashes of counters of each kind, found in so many steps of a SCAN; so many
# pages, and so many entries in them.
MAX_SAMPLED_HASHES = 128
MAX_SCANS = 16
MAX_WEIGHED_PAGES = 128
MAX_WALKED_ENTRIES = 10_000
# Entries of a key that MEMORY USAGE samples: with 0, all of them, a long page would block Redis.
SAMPLED_ENTRIES = 1_000

T = TypeVar("T")
# Of a group by kind: the number of counters that is kept, and the true one.
Rows = list[tuple[str, bytes, int]]


class CounterTotals(NamedTuple):
    """How many counters there are by the kinds of their hashes (driver/keys.py)."""

    by_kind: Mapping[str, int]

    @property
    def number(self) -> int:
        return sum(self.by_kind.values())

    @property
    def weight(self) -> int:
        """In the unit of COUNTER_LIMIT."""
        return sum(number * WEIGHTS[kind] for kind, number in self.by_kind.items())


async def of_all_groups(ask: Callable[[int], Awaitable[T]]) -> AsyncIterator[tuple[int, T]]:
    """Each group with what is said of it; some are asked in one round trip."""
    for first in range(0, GROUPS, GROUPS_AT_ONCE):
        groups = range(first, first + GROUPS_AT_ONCE)
        for each in zip(groups, await asyncio.gather(*map(ask, groups)), strict=True):
            yield each


class CounterNumbers:
    """How many counters there are. All methods raise StoreUnavailable."""

    def __init__(self, redis: RedisClient, scripts: Scripts, keys: Keys) -> None:
        self._redis = redis
        self._recount = scripts["counters/recount"]
        self._keys = keys

    async def total(self) -> CounterTotals:
        """The sum of the numbers that are kept."""
        names = map(self._keys.numbers, range(GROUPS))
        kept = await self._redis.ask_masters(*(("HMGET", name, *WEIGHTS) for name in names))
        columns = zip(WEIGHTS, zip(*kept, strict=True), strict=True)
        return CounterTotals(
            {kind: sum(int(each or 0) for each in column) for kind, column in columns}
        )

    async def recount(self, *, mends: bool) -> CounterTotals:
        """Ask for the length of every hash, some hundred in a step; with `mends` the numbers that
        are kept are what was found.

        Each group is counted in one step, so every number is right, however often this is done and
        while counters begin. Only a service of an older version, which keeps none, can
        begin counters that its group's number then lacks.
        """
        found = Counter[str]()
        async for _, rows in of_all_groups(partial(self._group, mends=mends)):
            for kind, _, number in rows:
                found[kind] += number
        return CounterTotals(found)

    async def recount_one(self) -> None:
        """The same for any one group."""
        await self._group(randrange(GROUPS), mends=True)  # noqa: S311 (any group will do)

    async def problems(self, *, repair: bool) -> AsyncIterator[str]:
        """A line for each number that is wrong, for `footfall check`."""
        repaired = " (repaired)" if repair else ""
        async for group, rows in of_all_groups(partial(self._group, mends=repair)):
            for kind, kept, number in rows:
                if kept != b"%d" % number:
                    key, shown = self._keys.numbers(group), kept.decode(errors="replace")
                    yield f"{key} has {shown} for {kind} instead of {number}{repaired}"

    async def _group(self, group: int, *, mends: bool) -> Rows:
        words = await self._recount(
            numbers=self._keys.numbers(group), counts=self._keys.counts_in(group), mends=mends
        )
        rows = zip(words[::3], words[1::3], words[2::3], strict=True)
        return [(kind.decode(), kept, number) for kind, kept, number in rows]


class CounterQuota:
    """COUNTER_LIMIT: without it strangers could fill the memory with counters of invented paths.

    `limit` is the weight that all counters together may have (driver/keys.py); 0: no limit. Their
    weight is read once a minute, and again when the new counters that this process has seen since
    may have used up the rest.
    """

    def __init__(self, redis: RedisClient, keys: Keys, numbers: CounterNumbers, limit: int) -> None:
        self._redis = redis
        self._keys = keys
        self._numbers = numbers
        self._limit = limit
        # The weight that this process has begun, and with how much of it the quota is used up.
        self._begun = 0
        self._most = limit
        self._read_at = -math.inf
        # True if the quota may be used up, by what this process knows; `allows` makes sure.
        self.is_full = False

    def began(self, weight: int) -> None:
        """Note that this process has made new counters of this weight."""
        self._begun += weight
        self.is_full = self._limit > 0 and self._most <= self._begun

    async def allows(self, names: Sequence[str]) -> bool:
        """Is there room for these counters, or do all exist already? Raises StoreUnavailable."""
        if not names or not self.is_full:
            return True
        if asyncio.get_running_loop().time() - self._read_at > FULL_FRESH_SECONDS:
            await self.read()
            if not self.is_full:
                return True
        return await self.are_known(names)

    async def are_known(self, names: Sequence[str]) -> bool:
        """Do all of these counters exist? Raises StoreUnavailable."""
        questions = (("HEXISTS", self._keys.counts(name), name) for name in names)
        return not names or all(await self._redis.ask_masters(*questions))

    async def read(self) -> None:
        """Read how many counters there are, if there is a limit. Raises StoreUnavailable."""
        if not self._limit:
            return
        self._read_at = asyncio.get_running_loop().time()
        # Before the numbers: counters that begin meanwhile may count twice, but none is missed.
        begun = self._begun
        counted = await self._numbers.total()
        self._most = begun + self._limit - counted.weight
        self.began(0)


class Kind(NamedTuple):
    """How many there are, and the bytes of Redis's memory that one takes (0 if that is not known:
    there are none, or none was met)."""

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
        goes on after that."""
        is_old = asyncio.get_running_loop().time() - self._weighed_at >= FRESH_SECONDS
        if is_old and (self._weighing is None or self._weighing.done()):
            self._weighing = asyncio.create_task(self.weigh())
        if self._weighing is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._weighing), wait_seconds)

    async def _size(self) -> Size | None:
        try:
            async with asyncio.timeout(self._redis.timeout):
                counters = await _counters(self._redis, self._keys, await self._numbers.total())
                comments = await _comments(self._redis, self._keys)
        except (ErrorReply, StoreUnavailable, TimeoutError, ValueError):
            # A ValueError is a damaged number. It is no reason not to start: `footfall check`
            # reports it.
            return None
        return Size(counters, comments)


async def _counters(redis: RedisClient, keys: Keys, counted: CounterTotals) -> Kind:
    """By a sample of each kind of hashes: those for short names, which Redis keeps packed, and
    those for long ones."""
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
    return sum(each or 0 for each in await _ask(redis, commands))


async def _ask(redis: RedisClient, commands: Iterable[Sequence[object]]) -> list[int]:
    """The replies to any number of commands, in several round trips."""
    rest = iter(commands)
    replies: list[int] = []
    while part := list(islice(rest, MAX_COMMANDS_A_TRIP)):
        replies += await redis.ask(*part)
    return replies

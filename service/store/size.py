"""How much is stored: counters, comments, and what one of each takes of Redis's memory.

A small data set is counted, of a large one a sample is looked at: at most some 10,000 short
commands and 100,000 entries, ten to twenty milliseconds of Redis, whatever is stored. They go in
pieces, so that requests get in between.

What one takes is the whole of its keys divided by their number, so that the keys' own cost is in
it: with one counter a key it is dear, with five hundred it is not. An account's list of its own
held comments on a page is left out, as nothing of the page tells its name.
"""

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from random import Random
from typing import NamedTuple

from ..errors import StoreUnavailable
from .connect import Connected
from .indexes import HASHES, INDEXES, STRINGS
from .keys import Keys
from .replies import ErrorReply

# A reading is good for so long.
FRESH_SECONDS = 60.0
# Where Redis holds no more keys than that, ours or others', every bucket is found by SCAN.
FEW_KEYS = 8_192
# In steps of a thousand; a table that has shrunk has holes, so there are some to spare.
MOST_STEPS = 40
# Otherwise so many buckets are counted, by default a quarter of them all. A page's counters are in
# one bucket, so with n pages the number is mostly right to 3.5 / sqrt(n): 4 % at 10,000 pages.
BUCKETS = 4_096
# What is weighed, bytes being much more alike than numbers: keys or pages, and things in them.
WEIGHED = 128
WALKED = 10_000
# Entries of a key that MEMORY USAGE looks at: 0, all of them, would stop Redis for as long as the
# longest page takes.
SAMPLES = 1_000
# Commands in one round trip: a millisecond or two in which a request has to wait.
AT_ONCE = 1_024


class Kind(NamedTuple):
    """How many there are, and what one takes of Redis's memory, in bytes (0 if there are none).

    What was not counted or not measured, but worked out from a sample, is near the truth.
    """

    number: int
    bytes_each: float
    is_counted: bool = True
    is_measured: bool = True

    def said(self, name: str) -> str:
        """As 1,204,331 counters, about 46 bytes each."""
        number = f"{self.number:,}" if self.is_counted else f"about {_roughly(self.number):,}"
        about = "" if self.is_measured else "about "
        return f"{number} {name}, {about}{self.bytes_each:,.0f} bytes each"


class Size(NamedTuple):
    counters: Kind
    comments: Kind

    def __str__(self) -> str:
        kinds = (("counters", self.counters), ("comments", self.comments))
        return "; ".join(kind.said(name) for name, kind in kinds if kind.number) or "nothing yet"


class Scale:
    """Weighs what is stored. `reading` is the latest result, None where there is none."""

    def __init__(self, redis: Connected, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._weighing: asyncio.Task[Size | None] | None = None
        self._weighed_at = -math.inf
        self.reading: Size | None = None

    async def weigh(self) -> Size | None:
        """None where Redis does not say: it is away, slow, old or forbids it."""
        self._weighed_at = asyncio.get_running_loop().time()
        self.reading = await _size(self._redis, self._keys)
        return self.reading

    async def refresh(self, wait_seconds: float) -> None:
        """Weigh again if the reading is old. Waits that long at most, it is done all the same."""
        is_old = asyncio.get_running_loop().time() - self._weighed_at >= FRESH_SECONDS
        if is_old and (self._weighing is None or self._weighing.done()):
            self._weighing = asyncio.create_task(self.weigh())
        if self._weighing is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._weighing), wait_seconds)


async def _size(redis: Connected, keys: Keys) -> Size | None:
    try:
        async with asyncio.timeout(redis.timeout):
            return Size(await _counters(redis, keys), await _comments(redis, keys))
    except (ErrorReply, StoreUnavailable, TimeoutError, ValueError):
        # The last for a damaged number: `footfall check` is there to complain, a start goes on.
        return None


async def _counters(redis: Connected, keys: Keys) -> Kind:
    names = await _every_bucket(redis, keys)
    is_counted = names is not None
    if names is None:
        names = _some_buckets(keys, keys.buckets)
        is_counted = len(names) == keys.buckets
    lengths = dict(zip(names, await _ask(redis, (("HLEN", name) for name in names)), strict=True))
    number = sum(lengths.values())
    weighed = _some(lengths)
    weight = await _weight(redis, weighed)
    return Kind(
        number if is_counted else round(number * keys.buckets / len(names)),
        weight / max(1, sum(weighed.values())),
        is_counted,
        is_measured=is_counted and _seen(weighed) == number,
    )


async def _every_bucket(redis: Connected, keys: Keys) -> tuple[str, ...] | None:
    """Those that hold counters; None if finding them would take long."""
    if sum(number for (number,) in await redis.every_server(("DBSIZE",))) > FEW_KEYS:
        return None
    found: set[str] = set()
    steps = 0
    async for names in redis.scan(keys.every_bucket):
        found.update(name.decode() for name in names)
        steps += 1
        if steps > MOST_STEPS:
            return None
    return tuple(found)


@lru_cache(1)
def _some_buckets(keys: Keys, buckets: int) -> tuple[str, ...]:
    """Buckets that chance has chosen once for all: more counters never look like fewer."""
    chosen = Random(0).sample(range(buckets), min(BUCKETS, buckets))
    return tuple(map(keys.counts_of, chosen))


async def _comments(redis: Connected, keys: Keys) -> Kind:
    approved, waiting, spam, found = await redis.ask(
        ("GET", keys.site("total")),
        ("ZCARD", keys.site("waiting")),
        ("ZCARD", keys.site("spam")),
        ("HRANDFIELD", keys.site("totals"), WEIGHED),
    )
    # fakeredis says None for none.
    pages = [page.decode() for page in found or ()]
    number = int(approved or 0) + waiting + spam
    bodies = await _ask(redis, (("HLEN", keys.page(page, "bodies")) for page in pages))
    weighed = _some(dict(zip(pages, bodies, strict=True)))
    parts = (*STRINGS, *HASHES, *INDEXES)
    weight = await _weight(redis, (keys.page(page, part) for page in weighed for part in parts))
    return Kind(
        number,
        weight / max(1, sum(weighed.values())),
        is_measured=_seen(weighed) == number,
    )


def _some(lengths: Mapping[str, int]) -> dict[str, int]:
    """As many of those that are not empty as may be weighed."""
    chosen: dict[str, int] = {}
    walked = 0
    for name, length in lengths.items():
        if len(chosen) == WEIGHED or walked >= WALKED:
            break
        if length:
            chosen[name] = length
            walked += min(length, SAMPLES)
    return chosen


def _seen(lengths: Mapping[str, int]) -> int:
    return sum(min(length, SAMPLES) for length in lengths.values())


async def _weight(redis: Connected, names: Iterable[str]) -> int:
    """The bytes that these keys take, those that are not there none."""
    questions = (("MEMORY", "USAGE", name, "SAMPLES", SAMPLES) for name in names)
    return sum(each or 0 for each in await _ask(redis, questions))


async def _ask(redis: Connected, questions: Iterable[Sequence[object]]) -> list[int]:
    """The replies to however many questions, in several round trips."""
    rest = iter(questions)
    replies: list[int] = []
    while part := list(islice(rest, AT_ONCE)):
        replies += await redis.ask(*part)
    return replies


def _roughly(number: int) -> int:
    """Three digits of it."""
    return round(number, 3 - len(str(number)))

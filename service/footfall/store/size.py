"""How much is stored: counters, comments, and what one of each takes of Redis's memory.

Numbers are exact. What one takes is worked out from some: the whole of their keys divided by their
number, so that the keys' own cost is in it: with one counter a key it is dear, with five hundred it
is not. An account's list of its own held comments on a page is left out, as nothing of the page
tells its name.
"""

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from ..driver.client import Connected
from ..driver.keys import Keys
from ..driver.replies import ErrorReply
from ..errors import StoreUnavailable
from .census import COMMANDS_A_TRIP, Census
from .indexes import HASHES, INDEXES, STRINGS

# A reading is good for so long.
FRESH_SECONDS = 60.0
# A count of counters that is no older will do.
COUNTED_SECONDS = 1.0
# What is weighed, bytes being much more alike than numbers: keys or pages, and things in them.
MAX_WEIGHED_KEYS = 128
MAX_WALKED_ENTRIES = 10_000
# Entries of a key that MEMORY USAGE looks at: 0, all of them, would stop Redis for as long as the
# longest page takes.
SAMPLED_ENTRIES = 1_000


class Kind(NamedTuple):
    """How many there are, and what one takes of Redis's memory, in bytes (0 if there are none)."""

    number: int
    bytes_each: float

    def said(self, name: str) -> str:
        """As 1,204,331 counters, about 46 bytes each."""
        return f"{self.number:,} {name}, about {self.bytes_each:,.0f} bytes each"


class Size(NamedTuple):
    counters: Kind
    comments: Kind

    def __str__(self) -> str:
        kinds = (("counters", self.counters), ("comments", self.comments))
        return "; ".join(kind.said(name) for name, kind in kinds if kind.number) or "nothing yet"


class Scale:
    """Weighs what is stored. `reading` is the latest result, None where there is none."""

    def __init__(self, redis: Connected, keys: Keys, census: Census) -> None:
        self._redis = redis
        self._keys = keys
        self._census = census
        self._weighing: asyncio.Task[Size | None] | None = None
        self._weighed_at = -math.inf
        self.reading: Size | None = None

    async def weigh(self, fresh_seconds: float = COUNTED_SECONDS) -> Size | None:
        """None where Redis does not say: it is away, slow, old or forbids it.

        A count of counters will do that was taken within the last so many seconds.
        """
        self._weighed_at = asyncio.get_running_loop().time()
        self.reading = await self._size(fresh_seconds)
        return self.reading

    async def refresh(self, wait_seconds: float) -> None:
        """Weigh again if the reading is old. Waits that long at most, it is done all the same."""
        is_old = asyncio.get_running_loop().time() - self._weighed_at >= FRESH_SECONDS
        if is_old and (self._weighing is None or self._weighing.done()):
            self._weighing = asyncio.create_task(self.weigh(FRESH_SECONDS))
        if self._weighing is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._weighing), wait_seconds)

    async def _size(self, fresh_seconds: float) -> Size | None:
        try:
            counted = await self._census.take(fresh_seconds)
            if counted.bytes_each < 0:
                return None
            async with asyncio.timeout(self._redis.timeout):
                comments = await _comments(self._redis, self._keys)
        except (ErrorReply, StoreUnavailable, TimeoutError, ValueError):
            # The last for a damaged number: `footfall check` is there to complain, a start goes on.
            return None
        return Size(Kind(counted.number, counted.bytes_each), comments)


async def _comments(redis: Connected, keys: Keys) -> Kind:
    approved, waiting, spam, found = await redis.ask(
        ("GET", keys.site("total")),
        ("ZCARD", keys.site("waiting")),
        ("ZCARD", keys.site("spam")),
        ("HRANDFIELD", keys.site("totals"), MAX_WEIGHED_KEYS),
    )
    # fakeredis says None for none.
    pages = [page.decode() for page in found or ()]
    number = int(approved or 0) + waiting + spam
    bodies = await _ask(redis, (("HLEN", keys.page(page, "bodies")) for page in pages))
    weighed = _some(dict(zip(pages, bodies, strict=True)))
    parts = (*STRINGS, *HASHES, *INDEXES)
    weight = await _weight(redis, (keys.page(page, part) for page in weighed for part in parts))
    return Kind(number, weight / max(1, sum(weighed.values())))


def _some(lengths: Mapping[str, int]) -> dict[str, int]:
    """As many of those that are not empty as may be weighed."""
    chosen: dict[str, int] = {}
    walked = 0
    for name, length in lengths.items():
        if len(chosen) == MAX_WEIGHED_KEYS or walked >= MAX_WALKED_ENTRIES:
            break
        if length:
            chosen[name] = length
            walked += min(length, SAMPLED_ENTRIES)
    return chosen


async def _weight(redis: Connected, names: Iterable[str]) -> int:
    """The bytes that these keys take, those that are not there none."""
    questions = (("MEMORY", "USAGE", name, "SAMPLES", SAMPLED_ENTRIES) for name in names)
    return sum(each or 0 for each in await _ask(redis, questions))


async def _ask(redis: Connected, questions: Iterable[Sequence[object]]) -> list[int]:
    """The replies to however many questions, in several round trips."""
    rest = iter(questions)
    replies: list[int] = []
    while part := list(islice(rest, COMMANDS_A_TRIP)):
        replies += await redis.ask(*part)
    return replies

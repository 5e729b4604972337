"""Views and reactions: one hash for each bucket of paths, `<counter> <path>` -> count.

A counter is not a key of its own, because in a small hash it takes half the memory. Reads and
changes of one turn of the event loop go to Redis together (counting/batch.py).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from ..callbacks import awaited
from ..counters import counter_of
from ..driver.client import RedisClient
from ..driver.keys import Keys
from ..driver.reads import PackedRead
from ..driver.walks import MAX_STEP_HASHES, walked
from ..model import NO_ORIGIN, Origin
from .batch import CounterBatcher
from .packed import PackedChange, PackedNames

# Limits of a search step: hashes, most of them empty on a small site, and counters.
STEP_HASHES, STEP_COUNTERS = 16_384, 20_000


class Counters:
    """Counters by name, which is `<type> <path>`.

    `fetch(reading, done)` and `send(change, done, client)` join the next batch; `done` gets the
    counts in order, or an exception.
    """

    def __init__(
        self,
        reads: CounterBatcher,
        changes: CounterBatcher,
        packed: PackedNames,
        undated: Callable[[str, int], Awaitable[int]] | None = None,
    ) -> None:
        """With `undated` corrections are distinguished from views, which have a day."""
        self.fetch = reads.read
        self.send = changes.add
        self._packed = packed
        self._undated = undated

    @staticmethod
    def names(paths: Sequence[str], types: Sequence[str]) -> tuple[str, ...]:
        """The counters of all types of the first path, then of the second, and so on."""
        return tuple([counter_of(path, type) for path in paths for type in types])

    def reading(self, names: Sequence[str]) -> PackedRead:
        """What `fetch` takes."""
        return self._packed.read(names)

    def change(
        self, changes: Sequence[tuple[str, str, int]], origin: Origin = NO_ORIGIN
    ) -> PackedChange:
        """What `send` takes, of (path, type, delta) each."""
        named = [(counter_of(path, type), delta) for path, type, delta in changes]
        return self._packed.change(named, origin)

    async def read(self, names: Sequence[str]) -> list[int]:
        """The counts of these counters; 0 for a counter that does not exist."""
        return await awaited(partial(self.fetch, self.reading(names)))

    async def add(self, changes: Sequence[tuple[str, str, int]]) -> list[int]:
        """Apply (path, type, delta) changes; returns the new counts, in order, none below 0."""
        return await awaited(partial(self.send, self.change(changes)))

    async def correct(self, path: str, type: str, delta: int) -> int:
        """Change a counter by a difference that is not a view; the new count, 0 at least."""
        if self._undated:
            return await self._undated(counter_of(path, type), delta)
        (count,) = await self.add([(path, type, delta)])
        return count


class CounterWalk:
    """All counters, some hashes per step, for a search by path.

    There is no index by path or count: it would take as much memory as the counters.
    """

    def __init__(self, redis: RedisClient, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    @property
    def hashes(self) -> int:
        """How many there may be; a walk has come to its end there."""
        return self._keys.hashes

    async def step(self, first: int) -> tuple[Mapping[str, int], int]:
        """The counts by name in the hashes from this one on, without damaged ones; and the place of
        the next hash.

        Raises StoreUnavailable.
        """
        found: dict[str, int] = {}
        next, end = first, min(first + STEP_HASHES, self.hashes)
        while next < end and len(found) < STEP_COUNTERS:
            places = range(next, min(next + MAX_STEP_HASHES, end))
            async for _, counts in walked(self._redis, map(self._keys.hash_at, places)):
                for field, count in counts.items():
                    if count.isdigit():
                        found[field.decode(errors="replace")] = int(count)
            next = places.stop
        return found, next

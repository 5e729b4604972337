"""Read counts and reactions: one hash a bucket of paths, `<counter> <path>` -> count.

A counter is not a key of its own because a small hash costs half the memory. Reads and changes of
one turn of the event loop go to Redis together (batch.py).
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import islice

from ..driver.batch import Batcher
from ..driver.client import Connected, fulfil

# Hashes that are read together, and fields of a large one in one step: eight megabytes at worst.
HASHES_AT_ONCE = 32
FIELDS_AT_ONCE = 32


class Counters:
    """`ask_counts` takes names, `ask_changes` (name, delta) each, and both who hears the counts."""

    def __init__(self, reads: Batcher, changes: Batcher) -> None:
        self.fetch_counts = reads.read
        self.send_changes = changes.add

    @staticmethod
    def names(paths: Sequence[str], types: Sequence[str]) -> list[str]:
        """The counters of all types of the first path, then of the second, and so on."""
        return [f"{type} {path}" for path in paths for type in types]

    async def read(self, names: Sequence[str]) -> list[int]:
        """The counts of these counters; 0 where there is none."""
        future: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self.fetch_counts(names, fulfil(future))
        return await future

    @staticmethod
    def changes(changes: Sequence[tuple[str, str, int]]) -> list[tuple[str, int]]:
        """(path, type, delta) each as (name, delta)."""
        return [(f"{type} {path}", delta) for path, type, delta in changes]

    async def add(self, changes: Sequence[tuple[str, str, int]]) -> list[int]:
        """Apply (path, type, delta) changes; the new counts, in order. None falls below zero."""
        future: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self.send_changes(self.changes(changes), fulfil(future))
        return await future


async def walked(
    redis: Connected, hashes: Iterable[str]
) -> AsyncIterator[tuple[str, dict[bytes, bytes]]]:
    """Each of these hashes with all its counters; large ones are read in steps.

    Each counter is as it was at one moment. Raises StoreUnavailable.
    """
    rest = iter(hashes)
    while part := list(islice(rest, HASHES_AT_ONCE)):
        found: dict[str, dict[bytes, bytes]] = {name: {} for name in part}
        cursors = dict.fromkeys(part, b"0")
        while cursors:
            steps = (("HSCAN", *step, "COUNT", FIELDS_AT_ONCE) for step in cursors.items())
            replies = zip(list(cursors), await redis.ask(*steps), strict=True)
            cursors = {}
            for name, (cursor, words) in replies:
                # One that is being made larger tells some of them twice.
                found[name].update(zip(words[::2], words[1::2], strict=True))
                if cursor != b"0":
                    cursors[name] = cursor
        for name, counts in found.items():
            if counts:
                yield name, counts

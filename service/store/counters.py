"""Read counts and reactions: one hash a bucket of paths, `<counter> <path>` -> count.

A counter is not a key of its own because a small hash costs half the memory. Reads and changes of
one turn of the event loop go to Redis together (batch.py).
"""

import asyncio
from collections.abc import Sequence

from .batch import Batch
from .connect import deliver


class Counters:
    def __init__(self, reads: Batch, changes: Batch) -> None:
        self._reads = reads
        self._changes = changes

    @staticmethod
    def names(paths: Sequence[str], types: Sequence[str]) -> list[str]:
        """The counters of all types of the first path, then of the second, and so on."""
        return [f"{type} {path}" for path in paths for type in types]

    async def read(self, names: Sequence[str]) -> list[int]:
        """The counts of these counters; 0 where there is none."""
        future: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self._reads.read(names, deliver(future))
        return await future

    @staticmethod
    def changes(changes: Sequence[tuple[str, str, int]]) -> list[tuple[str, int]]:
        """(path, type, delta) each as (name, delta)."""
        return [(f"{type} {path}", delta) for path, type, delta in changes]

    async def add(self, changes: Sequence[tuple[str, str, int]]) -> list[int]:
        """Apply (path, type, delta) changes; the new counts, in order. None falls below zero."""
        future: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self._changes.add(self.changes(changes), deliver(future))
        return await future

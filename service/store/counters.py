"""Read counts and reactions: one hash a bucket of paths, `<counter> <path>` -> count.

A counter is not a key of its own because a small hash costs half the memory. Reads and changes of
one turn of the event loop go to Redis together (batch.py).
"""

import asyncio
from collections.abc import Sequence

from .batch import Batch
from .connect import deliver


class Counters:
    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    async def read(self, paths: Sequence[str], types: Sequence[str]) -> list[int]:
        """All counts of the first path, then of the second, and so on; 0 where there is none."""
        future: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self._batch.read(paths, types, deliver(future))
        return await future

    async def add(self, changes: Sequence[tuple[str, str, int]]) -> list[int]:
        """Apply (path, type, delta) changes; the new counts, in order. None falls below zero."""
        future: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self._batch.add(changes, deliver(future))
        return await future

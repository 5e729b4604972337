"""Read counts and reactions: one hash a bucket of paths, `<counter> <path>` -> count.

A counter is not a key of its own because a small hash costs half the memory. Any number of reads
is one round trip, any number of changes is one script.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from .connect import Clients
from .keys import Keys
from .scripts import Scripts


class Counters:
    def __init__(self, clients: Clients, scripts: Scripts, keys: Keys) -> None:
        self._clients = clients
        self._keys = keys
        self._add = scripts["counters/add"]

    async def read(self, paths: Sequence[str], types: Sequence[str]) -> list[list[int]]:
        """For each path, in order, its count of each type; 0 where there is none."""
        pipeline = self._clients.reader.pipeline(transaction=False)
        for path in paths:
            pipeline.hmget(self._keys.counts(path), [_field(path, type) for type in types])
        async with self._clients.answering():
            rows = await pipeline.execute()
        return [[int(count or 0) for count in row] for row in rows]

    async def add(self, changes: Sequence[tuple[str, str, int]]) -> list[int]:
        """Apply (path, type, delta) changes; the new counts, in order. None falls below zero."""
        if not self._clients.is_cluster:
            return await self._apply(changes)
        # One slot a script: send each group of buckets its own call, then restore the order.
        groups: defaultdict[str, list[int]] = defaultdict(list)
        for i, (path, _, _) in enumerate(changes):
            groups[self._keys.group_of(self._keys.counts(path))].append(i)
        calls = [self._apply([changes[i] for i in group]) for group in groups.values()]
        answers = dict[int, int]()
        for group, counts in zip(groups.values(), await asyncio.gather(*calls), strict=True):
            answers.update(zip(group, counts, strict=True))
        return [answers[i] for i in range(len(changes))]

    async def _apply(self, changes: Sequence[tuple[str, str, int]]) -> list[int]:
        pairs: list[Any] = []
        for path, type, delta in changes:
            pairs += _field(path, type), delta
        keys = [self._keys.counts(path) for path, _, _ in changes]
        counts: list[int] = await self._add(counts=keys, changes=pairs)
        return counts


def _field(path: str, type: str) -> bytes:
    return f"{type} {path}".encode()

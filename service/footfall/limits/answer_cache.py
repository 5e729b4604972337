"""A cache of finished answers, each made once for all clients, and valid until a version changes.

To join a page of fifty comments costs many times as much as to read its version. Every script that
changes a page raises its version, so each request reads that from Redis, and gets the cached page
if it was made of the same version: it is never stale, and needs no expiry. Without a cached page
the version is not read first. The version of a page of statistics is the minute.

A page also shows accounts as they are now: when one changes, the versions of the pages on which it
wrote are raised in the background (comments/rules/refresh.py). Answers with comments of several
pages (comments/api/recent.py) have the versions of all of them.

An answer takes several times its bytes while it is made, so few are made at a time, in turn for the
clients that started them. Those that wait for what is being made already need no place: a school
that opens a new page has one address.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from operator import ge
from sys import getsizeof
from typing import Any, NamedTuple

from .clients import PoolClient
from .pool import Place, Pool

# Of one process: some six hundred pages of fifty comments.
MAX_CACHE_BYTES = 24 * 1024 * 1024
# A page that would take a larger share of it is not cached: a few of them would evict all others.
MAX_SHARE = 1 / 4

Key = tuple[Hashable, ...]
Versions = tuple[Any, ...]
Make = Callable[[], Coroutine[None, None, "CachedAnswer"]]


class CachedAnswer(NamedTuple):
    """An answer's body and ETag, with the versions that it was made of."""

    versions: Versions
    body: bytes
    tag: bytes


class AnswerCache:
    def __init__(self, max_bytes: int = MAX_CACHE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[Key, CachedAnswer] = OrderedDict()
        self._making: dict[tuple[Key, Versions], asyncio.Task[CachedAnswer]] = {}
        # Pages that are made without knowing their versions first.
        self._first: dict[Key, asyncio.Task[CachedAnswer]] = {}
        self.bytes = 0

    def find(self, key: Key, versions: Versions) -> CachedAnswer | None:
        entry = self._kept.get(key)
        if entry is None or entry.versions != versions:
            return None
        self._kept.move_to_end(key)
        return entry

    def has(self, key: Key) -> bool:
        """Is a page of any version cached, or being made? If not, its versions need not be read."""
        return key in self._kept or key in self._first

    async def find_or_make(
        self, key: Key, versions: Versions, make: Make, pool: Pool, client: PoolClient
    ) -> CachedAnswer:
        """The answer of these versions or newer ones. Raises TooManyAtOnce, Busy."""
        cached = self.find(key, versions)
        if cached:
            return cached
        first = self._first.get(key)
        if first:
            # It may have been read before these versions were, or after: its own versions tell
            # which.
            cached = await asyncio.shield(first)
            if all(map(ge, cached.versions, versions)):
                return cached
        task = self._making.get((key, versions))
        if task is None:
            task = self._started(key, make, pool, client)
            self._making[key, versions] = task
            task.add_done_callback(lambda _: self._making.pop((key, versions)))
        # Shielded, so that a request that is cancelled does not cancel it for the others.
        return await asyncio.shield(task)

    async def make_first(
        self, key: Key, make: Make, pool: Pool, client: PoolClient
    ) -> CachedAnswer:
        """The answer of its current versions, which are numbers that only rise.

        For requests that found none: one that another request has started since is new enough.
        Raises TooManyAtOnce, Busy.
        """
        task = self._first.get(key)
        if task is None:
            task = self._started(key, make, pool, client)
            self._first[key] = task
            task.add_done_callback(lambda _: self._first.pop(key))
        return await asyncio.shield(task)

    def _started(
        self, key: Key, make: Make, pool: Pool, client: PoolClient
    ) -> "asyncio.Task[CachedAnswer]":
        """Raises TooManyAtOnce, Busy: to the client that would start it, and not to others."""
        return asyncio.create_task(self._make(key, make, pool, pool.enter(client)))

    async def _make(self, key: Key, make: Make, pool: Pool, place: Place) -> CachedAnswer:
        try:
            # This turn has no place that could be evicted, since others wait for it.
            async with pool.turn_at(Place(place.client, 1)):
                finished = await make()
        finally:
            pool.leave(place)
        self._keep(key, finished)
        return finished

    def _keep(self, key: Key, finished: CachedAnswer) -> None:
        """Replace an older page, and evict the pages that were not used for longest."""
        older = self._kept.pop(key, None)
        if older:
            self.bytes -= _size(key, older)
        size = _size(key, finished)
        if size > MAX_SHARE * self._max_bytes:
            return
        self._kept[key] = finished
        self.bytes += size
        while self.bytes > self._max_bytes:
            self.bytes -= _size(*self._kept.popitem(last=False))


def _size(key: Key, finished: CachedAnswer) -> int:
    """The approximate bytes of memory of an entry. The key counts, since clients can request many
    empty pages."""
    versions = sum(map(getsizeof, finished.versions))
    return 600 + sum(map(getsizeof, key)) + versions + len(finished.body)

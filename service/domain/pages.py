"""Finished pages, kept until their version changes.

Joining a page of fifty comments costs a hundred times what asking for its version does. Every
script that changes a page raises its version, so a reader asks Redis for that alone, every time,
and what was made of the same version is sent again: never stale, and no time-out to get wrong.

A page also shows accounts as they are now, so the accounts have a version too.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from sys import getsizeof
from typing import NamedTuple

# In bytes, of one process: some six hundred pages of fifty comments.
MAX_BYTES = 24 * 1024 * 1024

Key = tuple[Hashable, ...]


class Finished(NamedTuple):
    """An answer's body and ETag, with the versions of page and accounts that it was made of."""

    page_version: int
    accounts_version: int
    body: bytes
    tag: bytes


class Pages:
    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[Key, Finished] = OrderedDict()
        self._making: dict[tuple[Key, tuple[int, int]], asyncio.Task[Finished]] = {}
        self.bytes = 0

    def find(self, key: Key, page_version: int, accounts_version: int) -> Finished | None:
        found = self._kept.get(key)
        if (
            found is None
            or found.page_version != page_version
            or found.accounts_version != accounts_version
        ):
            return None
        self._kept.move_to_end(key)
        return found

    async def find_or_make(
        self,
        key: Key,
        versions: tuple[int, int],
        make: Callable[[], Coroutine[None, None, Finished]],
    ) -> Finished:
        """The page of these versions or newer ones; made once, however many wait for it."""
        found = self.find(key, *versions)
        if found:
            return found
        task = self._making.get((key, versions))
        if task is None:
            task = asyncio.create_task(make())
            self._making[key, versions] = task
            task.add_done_callback(lambda _: self._making.pop((key, versions)))
        # Shielded: whoever gives up waiting must not take the page from the others.
        finished = await asyncio.shield(task)
        self._keep(key, finished)
        return finished

    def _keep(self, key: Key, finished: Finished) -> None:
        """Instead of its older version; those not asked for longest make room."""
        older = self._kept.get(key)
        if older:
            if older >= finished:
                return
            self.bytes -= _size(key, older)
        self._kept[key] = finished
        self._kept.move_to_end(key)
        self.bytes += _size(key, finished)
        while self.bytes > self._max_bytes:
            self.bytes -= _size(*self._kept.popitem(last=False))


def _size(key: Key, finished: Finished) -> int:
    """About how much memory one takes; for empty pages, of which strangers name many, the key's."""
    return 600 + sum(map(getsizeof, key)) + len(finished.body)

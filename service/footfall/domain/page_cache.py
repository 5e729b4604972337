"""Finished pages, kept until their version changes.

Joining a page of fifty comments costs many times what asking for its version does. Every script
that changes a page raises its version, so a reader asks Redis for that alone, every time, and what
was made of the same version is sent again: never stale, and no time-out to get wrong. Where there
is none to send again, its version need not be asked for first.

A page also shows accounts as they are now, so the accounts have a version too; and what shows
comments of many pages (recent.py) has the versions of all of them.

While one is made it takes several times its bytes, so few are made at a time.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine, Hashable
from operator import ge
from sys import getsizeof
from typing import Any, NamedTuple

from ..errors import Unavailable

# In bytes, of one process: some six hundred pages of fifty comments.
MAX_BYTES = 24 * 1024 * 1024
# What fills more than such a part of it is not kept: a few of them would take the place of all.
MAX_SHARE = 1 / 4
# Pages in the making, and the seconds that a reader waits for a turn.
MAX_MAKING = 8
MAX_WAIT = 1.5

Key = tuple[Hashable, ...]
Versions = tuple[Any, ...]
Make = Callable[[], Coroutine[None, None, "Finished"]]


class Finished(NamedTuple):
    """An answer's body and ETag, with the versions that it was made of."""

    versions: Versions
    body: bytes
    tag: bytes


class PageCache:
    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[Key, Finished] = OrderedDict()
        self._making: dict[tuple[Key, Versions], asyncio.Task[Finished]] = {}
        # Those that nobody knew the versions of.
        self._first: dict[Key, asyncio.Task[Finished]] = {}
        # For those too that are not kept.
        self.turns = Turns(MAX_MAKING)
        self.bytes = 0

    def find(self, key: Key, versions: Versions) -> Finished | None:
        found = self._kept.get(key)
        if found is None or found.versions != versions:
            return None
        self._kept.move_to_end(key)
        return found

    def has(self, key: Key) -> bool:
        """Is there one of any versions, or in the making? If not, nobody need ask for them."""
        return key in self._kept or key in self._first

    async def find_or_make(self, key: Key, versions: Versions, make: Make) -> Finished:
        """The page of these versions or newer ones; made once, however many wait for it.

        Raises Unavailable when too many others are being made.
        """
        found = self.find(key, versions)
        if found:
            return found
        first = self._first.get(key)
        if first:
            # It was asked for at about the time when these versions were: nobody knows which came
            # first.
            found = await asyncio.shield(first)
            if all(map(ge, found.versions, versions)):
                return found
        task = self._making.get((key, versions))
        if task is None:
            task = asyncio.create_task(self._make(key, make))
            self._making[key, versions] = task
            task.add_done_callback(lambda _: self._making.pop((key, versions)))
        # Shielded: whoever gives up waiting must not take the page from the others.
        return await asyncio.shield(task)

    async def make_first(self, key: Key, make: Make) -> Finished:
        """The page of the versions that it has by now, which are numbers and rise.

        For whoever was told that there is none: what others have begun since is as new as theirs
        would be. Raises as above.
        """
        task = self._first.get(key)
        if task is None:
            task = asyncio.create_task(self._make(key, make))
            self._first[key] = task
            task.add_done_callback(lambda _: self._first.pop(key))
        return await asyncio.shield(task)

    async def _make(self, key: Key, make: Make) -> Finished:
        async with self.turns:
            finished = await make()
        self._keep(key, finished)
        return finished

    def _keep(self, key: Key, finished: Finished) -> None:
        """Instead of what was made before; those not asked for longest make room."""
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


class Turns:
    """Turns at making a page: a semaphore that costs next to nothing while turns are free.

    `async with` raises Unavailable.
    """

    def __init__(self, number: int) -> None:
        self._free = number
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if self._free:
            self._free -= 1
            return
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        late = loop.call_later(MAX_WAIT, _refuse, turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled() and turn.exception() is None:
                # It came too late, and is the next one's.
                self._give_back()
            raise
        finally:
            late.cancel()

    async def __aexit__(self, *error: object) -> None:
        self._give_back()

    def _give_back(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


def _refuse(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_exception(Unavailable())


def _size(key: Key, finished: Finished) -> int:
    """About how much memory one takes; for empty pages, of which strangers name many, the key's."""
    versions = sum(map(getsizeof, finished.versions))
    return 600 + sum(map(getsizeof, key)) + versions + len(finished.body)

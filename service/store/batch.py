"""All counter reads, counter changes and page versions of one turn of the event loop, in one go.

A command costs Redis and this process far more than what it does, so a busy service does not send
one for each request: requests join the batch that is forming, it leaves at the end of the turn, and
the next one forms while it is under way. Under no load a batch holds one request, and leaves at
once.

Every request gets its own answer, or StoreUnavailable with all others of its batch. A batch is
never sent again, and when too many wait, further requests are turned away at once.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import StoreUnavailable
from .connect import Connected, failure, is_unknown_script
from .keys import Keys
from .scripts import Script
from .wire import Command, tell

# While so many batches are under way, the next one goes on forming: bigger batches when Redis is
# the one who is slow.
IN_FLIGHT = 2
# Requests that may wait for the next batch; more are answered 503 at once.
MAX_WAITING = 20_000
# Changes in one script call, after which a batch leaves whatever is under way: Redis does nothing
# else meanwhile, for about a millisecond.
MAX_CHANGES = 1_000

Change = tuple[str, str, int]
# Hears the numbers that were asked for, in order, or what went wrong.
Counts = Callable[[list[int] | Exception], None]


class Batch:
    """`sent` and `largest` say how it has gone: batches, and requests in the biggest one."""

    def __init__(self, redis: Connected, add: Script, keys: Keys) -> None:
        self._redis = redis
        self._add = add
        self._keys = keys
        self._forming = _Forming()
        self._is_leaving = False
        self._in_flight = 0
        self.sent = 0
        self.largest = 0

    def read(self, paths: Sequence[str], types: Sequence[str], done: Counts) -> None:
        """The counts of all types of the first path, then of the second, and so on."""
        if not self._has_room(done):
            return
        wanted, places = self._forming.wanted, []
        for path in paths:
            key = self._keys.counts(path)
            fields = wanted.setdefault(key, {})
            for type in types:
                places.append((key, fields.setdefault(_field(type, path), len(fields))))
        self._forming.readers.append((places, done))

    def add(self, changes: Sequence[Change], done: Counts) -> None:
        """Apply (path, type, delta) changes; `done` hears the new counts."""
        if not self._has_room(done):
            return
        forming = self._forming
        for path, type, delta in changes:
            forming.keys.append(self._keys.counts(path))
            forming.args.append(_field(type, path))
            forming.args.append(delta)
        forming.changers.append((len(changes), done))
        if len(forming.keys) >= MAX_CHANGES:
            self._leave()

    def version(self, page: str, done: Counts) -> None:
        """The version of a page, by its digest, and the version of the accounts."""
        if self._has_room(done):
            self._forming.versions[page].append(done)

    def _has_room(self, done: Counts) -> bool:
        if self._forming.size >= MAX_WAITING:
            tell(done, StoreUnavailable())
            return False
        self._forming.size += 1
        if not self._is_leaving and self._in_flight < IN_FLIGHT:
            self._is_leaving = True
            asyncio.get_running_loop().call_soon(self._leave)
        return True

    def _leave(self) -> None:
        self._is_leaving = False
        batch, self._forming = self._forming, _Forming()
        if not batch.size:
            return
        self._in_flight += 1
        self.sent += 1
        self.largest = max(self.largest, batch.size)
        calls = self._calls(batch)
        commands = [self._add.by_sha(keys, args) for _, keys, args in calls]
        commands += self._questions(batch)
        self._redis.door.ask(commands, lambda replies: self._arrived(batch, calls, replies))

    def _calls(self, batch: "_Forming") -> "list[_Call]":
        """The changes as calls of the script: one, or on a Cluster one a slot."""
        if not batch.keys:
            return []
        if not self._redis.is_cluster:
            return [(range(len(batch.keys)), batch.keys, batch.args)]
        slots: defaultdict[str, list[int]] = defaultdict(list)
        for i, key in enumerate(batch.keys):
            slots[self._keys.group_of(key)].append(i)
        return [
            (
                places,
                [batch.keys[i] for i in places],
                [each for i in places for each in batch.args[2 * i : 2 * i + 2]],
            )
            for places in slots.values()
        ]

    def _questions(self, batch: "_Forming") -> list[Command]:
        """One HMGET a bucket, then the versions."""
        commands: list[Command] = [("HMGET", key, *names) for key, names in batch.wanted.items()]
        if batch.versions:
            keys = [self._keys.page(page, "version") for page in batch.versions]
            keys.append(self._keys.accounts_version)
            is_cluster = self._redis.is_cluster
            commands += [("GET", key) for key in keys] if is_cluster else [("MGET", *keys)]
        return commands

    def _arrived(
        self, batch: "_Forming", calls: "list[_Call]", replies: list[Any] | StoreUnavailable
    ) -> None:
        self._in_flight -= 1
        if self._forming.size and not self._is_leaving:
            # Before the answers go out, so that Redis works while we do.
            self._leave()
        if isinstance(replies, StoreUnavailable):
            batch.fail(replies)
            return
        batch.answer_reads(replies[len(calls) :])
        forgotten = [i for i in range(len(calls)) if is_unknown_script(replies[i])]
        if not forgotten:
            batch.answer_changes(calls, replies)
            return

        def arrived_again(again: list[Any] | StoreUnavailable) -> None:
            for place, i in enumerate(forgotten):
                replies[i] = again if isinstance(again, StoreUnavailable) else again[place]
            batch.answer_changes(calls, replies)

        # Redis has forgotten the script, so has not run it: this is no second time.
        commands = [
            self._add.in_full(keys, args) for _, keys, args in map(calls.__getitem__, forgotten)
        ]
        self._redis.door.ask(commands, arrived_again)


# Places of changes in the batch, with the keys and arguments of the call that makes them.
_Call = tuple[Sequence[int], list[str], list[Any]]


class _Forming:
    """What has been asked for since the last batch left."""

    def __init__(self) -> None:
        self.size = 0
        # One key and two arguments a change; each changer made the next so many of them.
        self.keys: list[str] = []
        self.args: list[Any] = []
        self.changers: list[tuple[int, Counts]] = []
        # key -> field -> place in that key's reply: what two requests want is asked for once.
        self.wanted: dict[str, dict[bytes, int]] = {}
        self.readers: list[tuple[list[tuple[str, int]], Counts]] = []
        self.versions: defaultdict[str, list[Counts]] = defaultdict(list)

    def answer_changes(self, calls: list[_Call], replies: list[Any]) -> None:
        counts: list[Any] = [None] * len(self.keys)
        for (places, _, _), reply in zip(calls, replies, strict=False):
            error = isinstance(reply, Exception) and failure(reply)
            for place, i in enumerate(places):
                counts[i] = error or reply[place]
        start = 0
        for number, done in self.changers:
            mine = counts[start : start + number]
            start += number
            tell(done, next((each for each in mine if isinstance(each, Exception)), mine))

    def answer_reads(self, replies: list[Any]) -> None:
        found = dict(zip(self.wanted, replies, strict=False))
        for places, done in self.readers:
            try:
                tell(done, [int(found[key][place] or 0) for key, place in places])
            except TypeError:
                error = next(found[key] for key, _ in places if isinstance(found[key], Exception))
                tell(done, failure(error))
        if not self.versions:
            return
        rest = replies[len(self.wanted) :]
        versions = [int(each or 0) for each in (rest[0] if isinstance(rest[0], list) else rest)]
        for version, waiting in zip(versions, self.versions.values(), strict=False):
            for done in waiting:
                tell(done, [version, versions[-1]])

    def fail(self, error: StoreUnavailable) -> None:
        waiting = [done for _, done in (*self.changers, *self.readers)]
        for done in (*waiting, *(done for each in self.versions.values() for done in each)):
            tell(done, error)


def _field(type: str, path: str) -> bytes:
    return f"{type} {path}".encode()

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
# Counters in one script call, after which a batch leaves whatever is under way: Redis does nothing
# else meanwhile, for about a millisecond.
MAX_COUNTERS = 1_000

Change = tuple[str, str, int]
# Hears the numbers that were asked for, in order, or what went wrong.
Counts = Callable[[list[int] | Exception], None]


class Batch:
    """`sent` and `largest` say how it has gone: batches, and requests in the biggest one."""

    def __init__(self, redis: Connected, add: Script, read: Script, keys: Keys) -> None:
        self._redis = redis
        self._scripts = (add, read)
        self._keys = keys
        self._forming = _Forming(*self._scripts)
        self._is_leaving = False
        self._in_flight = 0
        self.sent = 0
        self.largest = 0

    def read(self, paths: Sequence[str], types: Sequence[str], done: Counts) -> None:
        """The counts of all types of the first path, then of the second, and so on."""
        # Before anything else is touched: text that is no UTF-8 is this request's fault alone.
        fields = [f"{type} {path}".encode() for path in paths for type in types]
        if not self._has_room(done):
            return
        reads = self._forming.reads
        same = self._forming.same.setdefault((*paths, *types, len(types)), [])
        same.append(done)
        if len(same) > 1:
            return
        for path in paths:
            reads.keys += [self._keys.counts(path)] * len(types)
        reads.args += fields
        reads.wait(len(fields), _each(same))
        if len(reads.keys) >= MAX_COUNTERS:
            self._leave()

    def add(self, changes: Sequence[Change], done: Counts) -> None:
        """Apply (path, type, delta) changes; `done` hears the new counts."""
        fields = [f"{type} {path}".encode() for path, type, _ in changes]
        if not self._has_room(done):
            return
        adds = self._forming.adds
        for field, (path, _, delta) in zip(fields, changes, strict=True):
            adds.keys.append(self._keys.counts(path))
            adds.args.append(field)
            adds.args.append(delta)
        adds.wait(len(changes), done)
        if len(adds.keys) >= MAX_COUNTERS:
            self._leave()

    def version(self, page: str, done: Counts) -> None:
        """The version of a page, by its digest, and the version of the accounts."""
        if self._has_room(done):
            self._forming.versions[page].append(done)

    def _has_room(self, done: Counts) -> bool:
        if self._forming.size >= MAX_WAITING:
            tell(done, StoreUnavailable())
            return False
        if not self._forming.size:
            self._forming.deadline = self._redis.deadline()
        self._forming.size += 1
        if not self._is_leaving and self._in_flight < IN_FLIGHT:
            self._is_leaving = True
            asyncio.get_running_loop().call_soon(self._leave)
        return True

    def _leave(self) -> None:
        self._is_leaving = False
        batch, self._forming = self._forming, _Forming(*self._scripts)
        if not batch.size:
            return
        self._in_flight += 1
        self.sent += 1
        self.largest = max(self.largest, batch.size)
        # Changes first: a read that joined the same batch sees them.
        calls = [
            *batch.adds.calls(self._redis.is_cluster), *batch.reads.calls(self._redis.is_cluster)
        ]  # fmt: skip
        commands = [call.by_sha for call in calls]
        commands += batch.version_questions(self._keys, self._redis.is_cluster)
        if not commands:
            self._arrived(batch, calls, [])
            return
        self._redis.door.ask(
            commands, lambda replies: self._arrived(batch, calls, replies), batch.deadline
        )

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
        try:
            self._hear(batch, calls, replies)
        except Exception as error:
            # Nobody may wait for ever because somebody else's reply cannot be understood.
            batch.fail(error)
            raise

    def _hear(self, batch: "_Forming", calls: "list[_Call]", replies: list[Any]) -> None:
        batch.answer_versions(replies[len(calls) :])
        unknown = [call for call, reply in zip(calls, replies, strict=False) if call.heard(reply)]
        if not unknown:
            batch.answer()
            return

        def arrived_again(again: list[Any] | StoreUnavailable) -> None:
            for i, call in enumerate(unknown):
                call.heard(again if isinstance(again, StoreUnavailable) else again[i])
            batch.answer()

        # Redis has forgotten these scripts, so has not run them: this is no second time.
        commands = [call.in_full for call in unknown]
        self._redis.door.ask(commands, arrived_again, batch.deadline)


class _Forming:
    """What has been asked for since the last batch left."""

    def __init__(self, add: Script, read: Script) -> None:
        self.size = 0
        # By the clock of the event loop: nobody waits longer than since the first one joined.
        self.deadline = 0.0
        self.adds = _Lot(add, 2)
        self.reads = _Lot(read, 1)
        # Who wants just the same: it is asked for once.
        self.same: dict[tuple[object, ...], list[Counts]] = {}
        self.versions: defaultdict[str, list[Counts]] = defaultdict(list)

    def version_questions(self, keys: Keys, is_cluster: bool) -> list[Command]:
        if not self.versions:
            return []
        wanted = [keys.page(page, "version") for page in self.versions]
        wanted.append(keys.accounts_version)
        return [("GET", key) for key in wanted] if is_cluster else [("MGET", *wanted)]

    def answer_versions(self, replies: list[Any]) -> None:
        if not self.versions:
            return
        found = replies[0] if isinstance(replies[0], list) else replies
        asked, self.versions = self.versions, defaultdict(list)
        try:
            versions = [_number(version) for version in found]
        except Exception as error:
            for waiting in asked.values():
                for done in waiting:
                    tell(done, error)
            return
        for version, waiting in zip(versions, asked.values(), strict=False):
            for done in waiting:
                tell(done, [version, versions[-1]])

    def answer(self) -> None:
        self.adds.answer()
        self.reads.answer()

    def fail(self, error: Exception) -> None:
        waiting = [done for _, done in (*self.adds.waiting, *self.reads.waiting)]
        for done in (*waiting, *(done for each in self.versions.values() for done in each)):
            tell(done, error)


class _Lot:
    """The counters that one script is called for: a key each, and so many arguments."""

    def __init__(self, script: Script, width: int) -> None:
        self.script = script
        self.keys: list[str] = []
        self.args: list[Any] = []
        # In the order of the keys: so many of them are this request's.
        self.waiting: list[tuple[int, Counts]] = []
        self.counts: list[Any] = []
        self._width = width

    def wait(self, number: int, done: Counts) -> None:
        self.waiting.append((number, done))

    def calls(self, is_cluster: bool) -> "list[_Call]":
        """One call, or on a Cluster one a slot."""
        if not self.keys:
            return []
        if not is_cluster:
            return [_Call(self, None, self.keys, self.args)]
        self.counts = [None] * len(self.keys)
        slots: defaultdict[str, list[int]] = defaultdict(list)
        for i, key in enumerate(self.keys):
            slots[Keys.group_of(key)].append(i)
        width = self._width
        return [
            _Call(
                self,
                places,
                [self.keys[i] for i in places],
                [each for i in places for each in self.args[width * i : width * (i + 1)]],
            )
            for places in slots.values()
        ]

    def answer(self) -> None:
        # Taken off the list first: nobody is told twice, whatever goes wrong further on.
        waiting, self.waiting = self.waiting, []
        start = 0
        for number, done in waiting:
            mine = self.counts[start : start + number]
            start += number
            wrong = next((each for each in mine if isinstance(each, Exception)), None)
            tell(done, failure(wrong) if wrong else mine)


class _Call:
    """One call of a lot's script, for all of its counters or those in these places."""

    def __init__(
        self, lot: _Lot, places: list[int] | None, keys: list[str], args: list[Any]
    ) -> None:
        self._lot = lot
        self._places = places
        self._keys = keys
        self._args = args

    @property
    def by_sha(self) -> Command:
        return self._lot.script.by_sha(self._keys, self._args)

    @property
    def in_full(self) -> Command:
        return self._lot.script.in_full(self._keys, self._args)

    def heard(self, reply: Any) -> bool:
        """Take the reply over; true if Redis does not know the script."""
        if isinstance(reply, Exception):
            if is_unknown_script(reply):
                return True
            reply = [reply] * len(self._keys)
        if self._places is None:
            self._lot.counts = reply
        else:
            for i, count in zip(self._places, reply, strict=True):
                self._lot.counts[i] = count
        return False


def _number(reply: Any) -> int:
    if isinstance(reply, Exception):
        raise failure(reply)
    return int(reply or 0)


def _each(waiting: list[Counts]) -> Counts:
    """Hears for everybody who is on the list by then."""

    def done(counts: list[int] | Exception) -> None:
        for each in waiting:
            tell(each, counts)

    return done

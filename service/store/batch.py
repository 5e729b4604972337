"""All counter reads, counter changes and page versions of one turn of the event loop, in one go.

A command costs Redis and this process far more than what it does, so a busy service does not send
one for each request: requests join the batch that is forming, it leaves at the end of the turn, and
the next one forms while it is under way. Under no load a batch holds one request, and leaves at
once.

Every request gets its own answer, or StoreUnavailable with all others of its batch. A batch is
never sent again, and when too many wait, further requests are turned away at once.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import count
from typing import Any, ClassVar

from ..errors import StoreUnavailable
from .connect import Connected, failure, is_unknown_script
from .keys import Keys, digest
from .scripts import Script
from .wire import Command, Door, pack_word, tell

# While so many batches are under way, the next one goes on forming: bigger batches when Redis is
# the one who is slow.
IN_FLIGHT = 4
# Requests that may wait for the next batch; more are answered 503 at once.
MAX_WAITING = 20_000
# Counters in one script call, after which a batch leaves whatever is under way: Redis does nothing
# else meanwhile, for about a millisecond.
MAX_COUNTERS = 1_000
# Names kept as they go over the wire, and how long their paths may be: some megabytes at most.
KEPT_WORDS = 16_384
LONGEST_KEPT = 256

# Hears the numbers that were asked for, in order, or what went wrong.
Counts = Callable[[list[int] | Exception], None]


class Batch:
    """`sent` and `largest` say how it has gone: batches, and requests in the biggest one."""

    def __init__(self, redis: Connected, door: Door, add: Script, read: Script, keys: Keys) -> None:
        self._redis = redis
        self._door = door
        self._scripts = (add, read)
        self._keys = keys
        self._words = _Words(keys)
        self._accounts_version = pack_word(keys.accounts_version)
        self._version_word = lru_cache(KEPT_WORDS)(self._pack_version)
        self._forming = _Forming(*self._scripts)
        self._is_leaving = False
        self._in_flight = 0
        self.sent = 0
        self.largest = 0

    @property
    def waiting(self) -> int:
        """Requests that the next batch will take along."""
        return self._forming.size

    def read(self, names: Sequence[str], done: Counts) -> None:
        """The counts of counters; however many want the same one, it is read once."""
        if self._is_full(done):
            return
        reads = self._forming.reads
        reads.waiting.append((list(map(reads.place, names)), done))
        self._joined(len(reads.places))

    def add(self, changes: Sequence[tuple[str, int]], done: Counts) -> None:
        """Apply (name, delta) changes; `done` hears the new counts."""
        if self._is_full(done):
            return
        adds = self._forming.adds
        first = len(adds.changes)
        adds.changes += changes
        adds.waiting.append((range(first, len(adds.changes)), done))
        self._joined(len(adds.changes))

    def version(self, path: str, done: Counts) -> None:
        """The version of an article's comments, and the version of the accounts."""
        if self._is_full(done):
            return
        make = self._version_word if len(path) <= LONGEST_KEPT else self._pack_version
        self._forming.versions[make(path)].append(done)
        self._joined()

    def _pack_version(self, path: str) -> bytes:
        return pack_word(self._keys.page(digest(path), "version"))

    def _is_full(self, done: Counts) -> bool:
        if self._forming.size < MAX_WAITING:
            return False
        tell(done, StoreUnavailable())
        return True

    def _joined(self, counters: int = 0) -> None:
        forming = self._forming
        if not forming.size:
            forming.deadline = self._redis.deadline()
        forming.size += 1
        if counters >= MAX_COUNTERS:
            self._leave()
        elif not self._is_leaving and self._in_flight < IN_FLIGHT:
            self._is_leaving = True
            asyncio.get_running_loop().call_soon(self._leave)

    def _leave(self) -> None:
        self._is_leaving = False
        batch = self._forming
        if not batch.size:
            return
        self._forming = _Forming(*self._scripts)
        self._in_flight += 1
        self.sent += 1
        self.largest = max(self.largest, batch.size)
        is_cluster = self._redis.is_cluster
        # Changes first: a read that joined the same batch sees them.
        calls = [*batch.adds.calls(self._words, is_cluster)]
        calls += batch.reads.calls(self._words, is_cluster)
        commands = [call.command() for call in calls]
        commands += batch.version_questions(self._accounts_version, is_cluster)
        if not commands:
            self._arrived(batch, calls, [])
            return
        self._door.ask(commands, partial(self._arrived, batch, calls), batch.deadline)

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
        commands = [call.command(in_full=True) for call in unknown]
        self._door.ask(commands, arrived_again, batch.deadline)


class _Words(dict[str, tuple[bytes, bytes]]):
    """A counter's name -> its key and field as they go over the wire; the latest are kept ready."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def __missing__(self, name: str) -> tuple[bytes, bytes]:
        _, _, path = name.partition(" ")
        words = pack_word(self._keys.counts(path)), pack_word(name)
        if len(name) <= LONGEST_KEPT:
            if len(self) >= KEPT_WORDS:
                self.clear()
            self[name] = words
        return words


class _Forming:
    """What has been asked for since the last batch left."""

    def __init__(self, add: Script, read: Script) -> None:
        self.size = 0
        # By the clock of the event loop: nobody waits longer than since the first one joined.
        self.deadline = 0.0
        self.adds = _Adds(add)
        self.reads = _Reads(read)
        self.versions: defaultdict[bytes, list[Counts]] = defaultdict(list)

    def version_questions(self, accounts_version: bytes, is_cluster: bool) -> list[Command]:
        if not self.versions:
            return []
        wanted = [*self.versions, accounts_version]
        if is_cluster:
            return [b"*2\r\n$3\r\nGET\r\n" + each for each in wanted]
        return [b"*%d\r\n$4\r\nMGET\r\n%b" % (1 + len(wanted), b"".join(wanted))]

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


class _Lot(ABC):
    """The counters that one script is called for."""

    # Arguments of the script for each counter.
    width: ClassVar[int]

    def __init__(self, script: Script) -> None:
        self.script = script
        # Which of the counters are this request's, and who hears of them.
        self.waiting: list[tuple[Sequence[int], Counts]] = []
        self.counts: list[Any] = []

    @abstractmethod
    def packed(self, words: _Words) -> tuple[list[bytes], list[bytes]]:
        """A key and the arguments for each counter."""

    def calls(self, words: _Words, is_cluster: bool) -> "list[_Call]":
        """One call, or on a Cluster one a slot."""
        keys, args = self.packed(words)
        if not keys:
            return []
        if not is_cluster:
            return [_Call(self, None, keys, args)]
        self.counts = [None] * len(keys)
        slots: defaultdict[bytes, list[int]] = defaultdict(list)
        for i, key in enumerate(keys):
            slots[Keys.group_of(key)].append(i)
        return [
            _Call(self, places, [keys[i] for i in places], [args[i] for i in places])
            for places in slots.values()
        ]

    def answer(self) -> None:
        # Taken off the list first: nobody is told twice, whatever goes wrong further on.
        waiting, self.waiting = self.waiting, []
        counts = self.counts
        is_sound = set(map(type, counts)) <= {int}
        count_at = counts.__getitem__
        for places, done in waiting:
            mine = list(map(count_at, places))
            tell(done, mine if is_sound else _counts_or_failure(mine))


class _Adds(_Lot):
    width = 2

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.changes: list[tuple[str, int]] = []

    def packed(self, words: _Words) -> tuple[list[bytes], list[bytes]]:
        keys, args = [], []
        for name, delta in self.changes:
            key, field = words[name]
            keys.append(key)
            args.append(field + _ONE if delta == 1 else field + pack_word(delta))
        return keys, args


class _Reads(_Lot):
    width = 1

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        # Each counter gets the next place when it is first looked for.
        self.places: defaultdict[str, int] = defaultdict(count().__next__)
        self.place = self.places.__getitem__

    def packed(self, words: _Words) -> tuple[list[bytes], list[bytes]]:
        pairs = list(map(words.__getitem__, self.places))
        return [key for key, _ in pairs], [field for _, field in pairs]


_ONE = pack_word(1)


class _Call:
    """One call of a lot's script, for all of its counters or those in these places."""

    def __init__(
        self, lot: _Lot, places: list[int] | None, keys: list[bytes], args: list[bytes]
    ) -> None:
        self._lot = lot
        self._places = places
        self._keys = keys
        self._args = args

    def command(self, *, in_full: bool = False) -> Command:
        lot = self._lot
        return lot.script.call(self._keys, self._args, width=lot.width, in_full=in_full)

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


def _counts_or_failure(counts: list[Any]) -> list[int] | Exception:
    wrong = next((each for each in counts if isinstance(each, Exception)), None)
    return failure(wrong) if wrong else counts

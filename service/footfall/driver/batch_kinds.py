"""What one batch wants of one kind: with which commands, and who hears which of the numbers.

A script is called once for all that want it, on a Cluster once a slot. A counter is read by a
command of its own: a script takes Redis twice as long to read it.
"""

import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any, ClassVar, Generic, TypeVar

from ..errors import NoRoom
from .cluster import slot_of_key
from .connection import Command, deliver, pack_word
from .keys import Keys, digest, weight
from .replies import failure, is_unknown_script
from .scripts import Script

# How lua/counters/add.lua begins to say that a trial has no room for another counter.
NO_ROOM_PREFIX = "NOROOM "
# Names kept as they go over the wire, and how long their paths may be: some megabytes at most.
MAX_KEPT_WORDS = 16_384
MAX_KEPT_CHARACTERS = 256

T = TypeVar("T")
K = TypeVar("K", str, bytes)

# Hears the numbers that were asked for, in order, or what went wrong.
CountsCallback = Callable[[list[int] | Exception], None]


class Rate:
    """What one address may change: so many counters a second, and so many at once."""

    def __init__(self, a_second: float, at_once: int) -> None:
        self.a_second = a_second
        self.at_once = at_once
        each = round(1_000_000 / a_second)
        # As they go over the wire.
        self.words = pack_word(each) + pack_word(each * at_once)


class Kept(dict[str, T]):
    """What is made of names and paths; the latest are kept ready."""

    def __init__(self, make: Callable[[str], T]) -> None:
        self._make = make

    def __missing__(self, name: str) -> T:
        made = self._make(name)
        if len(name) <= MAX_KEPT_CHARACTERS:
            if len(self) >= MAX_KEPT_WORDS:
                self.clear()
            self[name] = made
        return made


class Words:
    """How it goes over the wire: a counter as key and field, or as the command that reads it; a
    path as the key of its version."""

    def __init__(self, keys: Keys) -> None:
        self.counters = Kept(lambda name: (pack_word(keys.counts(name)), pack_word(name)))
        self.reads = Kept(lambda name: _HGET + pack_word(keys.counts(name)) + pack_word(name))
        self.versions = Kept(lambda path: pack_word(keys.page(digest(path), "version")))
        self.accounts_version = pack_word(keys.accounts_version)
        # Of counters; asked for on a Cluster alone.
        self.slots = Kept(lambda name: slot_of_key(keys.counts(name).encode()))

    def clear(self) -> None:
        """Counters lie elsewhere from now on."""
        self.counters.clear()
        self.reads.clear()
        self.slots.clear()


class BatchKind:
    """What is wanted of one kind, and who wants it."""

    def __init__(self) -> None:
        # Which of it is this request's, and who hears of it.
        self.waiting: list[tuple[Sequence[int], CountsCallback]] = []
        # What was found.
        self.counts: list[Any] = []

    def answer(self) -> None:
        # Taken off the list first: nobody is told twice, whatever goes wrong further on.
        waiting, self.waiting = self.waiting, []
        counts = self.counts
        is_sound = set(map(type, counts)) <= {int}
        count_at = counts.__getitem__
        for places, done in waiting:
            mine = list(map(count_at, places))
            deliver(done, mine if is_sound else _sound(mine))


class ReadBatch(BatchKind, Generic[K]):
    """Numbers, each of which is read once, however many want it."""

    def __init__(self) -> None:
        super().__init__()
        # Each gets the next place when it is first looked for.
        self.places: defaultdict[K, int] = defaultdict(count().__next__)
        self._place: Callable[[K], int] = self.places.__getitem__

    def want(self, what: Iterable[K], done: CountsCallback) -> None:
        self.waiting.append((list(map(self._place, what)), done))

    def hear(self, replies: Sequence[Any]) -> None:
        """A reply each, or one command's for all of them."""
        if len(replies) < len(self.places):
            (reply,) = replies
            replies = reply if isinstance(reply, list) else [reply] * len(self.places)
        try:
            self.counts = list(map(int, replies))
        except (TypeError, ValueError):
            self.counts = list(map(_number, replies))
        self.answer()


class ScriptBatch(BatchKind, ABC):
    """The counters that one script is called for."""

    # Arguments of the script for each counter.
    width: ClassVar[int]

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script

    @abstractmethod
    def packed(self, words: Words) -> tuple[list[bytes], list[bytes]]:
        """A key and the arguments for each counter."""

    def calls(self, words: Words, is_cluster: bool) -> "list[Call]":
        """One call, or on a Cluster one a slot."""
        keys, args = self.packed(words)
        if not keys:
            return []
        if not is_cluster:
            return [Call(self, None, keys, args)]
        self.counts = [None] * len(keys)
        slots: defaultdict[bytes, list[int]] = defaultdict(list)
        for i, key in enumerate(keys):
            slots[Keys.group_of(key)].append(i)
        return [
            Call(self, there, [keys[i] for i in there], [args[i] for i in there])
            for there in slots.values()
        ]


class IncrBatch(ScriptBatch):
    width = 2

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.changes: list[tuple[str, int]] = []

    def packed(self, words: Words) -> tuple[list[bytes], list[bytes]]:
        keys, args = [], []
        for name, delta in self.changes:
            key, field = words.counters[name]
            keys.append(key)
            args.append(field + _ONE if delta == 1 else field + pack_word(delta))
        return keys, args

    def begun(self) -> int:
        """What the counters weigh that have been counted up to 1: most of them are new."""
        if 1 not in self.counts:
            return 0
        each = zip(self.changes, self.counts, strict=True)
        return sum(weight(name) for (name, delta), count in each if count == 1 and delta == 1)


class TokenBatch(ScriptBatch):
    width = 4

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.takings: list[tuple[str, int, Rate]] = []

    def packed(self, words: Words) -> tuple[list[bytes], list[bytes]]:
        now = pack_word(time.time_ns() // 1000)
        keys = [pack_word(bucket) for bucket, _, _ in self.takings]
        return keys, [now + pack_word(tokens) + rate.words for _, tokens, rate in self.takings]


_ONE = pack_word(1)
_HGET = b"*3\r\n$4\r\nHGET\r\n"


class Call:
    """One call of a lot's script, for all of its counters or those in these places."""

    def __init__(
        self, batch: ScriptBatch, places: list[int] | None, keys: list[bytes], args: list[bytes]
    ) -> None:
        self._batch = batch
        self._places = places
        self._keys = keys
        self._args = args

    def command(self, *, in_full: bool = False) -> Command:
        batch = self._batch
        return batch.script.call(self._keys, self._args, width=batch.width, in_full=in_full)

    def heard(self, reply: Any) -> bool:
        """Take the reply over; true if Redis does not know the script."""
        if isinstance(reply, Exception):
            if is_unknown_script(reply):
                return True
            reply = [reply] * len(self._keys)
        if self._places is None:
            self._batch.counts = reply
        else:
            for i, count in zip(self._places, reply, strict=True):
                self._batch.counts[i] = count
        return False


def _number(reply: Any) -> int | Exception:
    try:
        return 0 if reply is None else int(reply)
    except (TypeError, ValueError) as error:
        return reply if isinstance(reply, Exception) else error


def _sound(counts: list[Any]) -> list[int] | Exception:
    wrong = next((each for each in counts if isinstance(each, Exception)), None)
    if wrong and str(wrong).startswith(NO_ROOM_PREFIX):
        return NoRoom(str(wrong).removeprefix(NO_ROOM_PREFIX).capitalize())
    return failure(wrong) if wrong else counts

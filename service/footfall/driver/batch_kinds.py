"""The requests of one kind in a batch: their commands, and which numbers each request gets.

A script is called once for all requests, on a Cluster once for each slot. Each read is an HGET:
a script for all of them takes Redis twice as long.
"""

import logging
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, ClassVar, Generic, TypeVar

from .cluster import slot_of_key
from .connection import Command, pack_word
from .keys import Keys, digest, weight
from .replies import UNDELIVERED, failure, is_unknown_script
from .scripts import Script

log = logging.getLogger(__name__)

# Names that are cached in their packed form, and how long they may be: some megabytes at most.
MAX_KEPT_WORDS = 16_384
MAX_KEPT_CHARACTERS = 256

_ONE = pack_word(1)
_HGET = b"*3\r\n$4\r\nHGET\r\n"

T = TypeVar("T")
K = TypeVar("K", str, bytes)

# Called with the numbers in the order of the request, or with what went wrong.
CountsCallback = Callable[[list[int] | Exception], None]


class Rate:
    """A token bucket's rate: it gets `a_second` tokens and holds `at_once`."""

    def __init__(self, a_second: float, at_once: int) -> None:
        self.a_second = a_second
        self.at_once = at_once
        each = round(1_000_000 / a_second)
        # The script's arguments, packed: µs for one token, and µs for a full bucket.
        self.packed = pack_word(each) + pack_word(each * at_once)


class Memo(dict[str, T]):
    """A cache: name -> `make(name)`. When it is full, all of it is dropped."""

    def __init__(self, make: Callable[[str], T]) -> None:
        self._make = make

    def __missing__(self, name: str) -> T:
        made = self._make(name)
        if len(name) <= MAX_KEPT_CHARACTERS:
            if len(self) >= MAX_KEPT_WORDS:
                self.clear()
            self[name] = made
        return made


class PackedNames:
    """Names in RESP, Redis's protocol: a counter as its two keys, field, and field with a delta of
    1; or as the HGET that reads it; a path as the key of its page's version."""

    def __init__(self, keys: Keys) -> None:
        self.counters = Memo(lambda name: _packed_counter(keys.counts(name), name))
        self.reads = Memo(lambda name: _HGET + pack_word(keys.counts(name)) + pack_word(name))
        self.versions = Memo(lambda path: pack_word(keys.page(digest(path), "version")))
        # Counters' slots, which only a Cluster has.
        self.slots = Memo(lambda name: slot_of_key(keys.counts(name).encode()))

    def clear(self) -> None:
        """Forget counters' keys, since the seed or the number of buckets has changed."""
        self.counters.clear()
        self.reads.clear()
        self.slots.clear()


def _packed_counter(key: str, name: str) -> tuple[bytes, bytes, bytes]:
    both, field = pack_word(key) + pack_word(Keys.numbers_beside(key)), pack_word(name)
    return both, field, field + _ONE


class BatchKind:
    """The requests of one kind in a batch."""

    def __init__(self) -> None:
        # For each request, the places of its numbers in `counts`, and its callback.
        self.waiting: list[tuple[slice | list[int], CountsCallback]] = []
        # The numbers of all requests; an exception stands for a number that failed.
        self.counts: list[Any] = []

    def answer(self) -> None:
        # The list is emptied first, so that no callback is called twice if a later one fails.
        waiting, self.waiting = self.waiting, []
        counts = self.counts
        is_sound = set(map(type, counts)) <= {int}
        for places, done in waiting:
            mine = counts[places] if type(places) is slice else [*map(counts.__getitem__, places)]
            try:
                done(mine if is_sound else _sound(mine))
            except Exception:
                log.exception(UNDELIVERED)


class ReadBatch(BatchKind, Generic[K]):
    """Numbers to read, each of them once, however many requests want it."""

    def __init__(self) -> None:
        super().__init__()
        # Name or packed key -> its place; a new one gets the next place.
        self.places: defaultdict[K, int] = defaultdict(count().__next__)

    def want(self, what: Sequence[K], done: CountsCallback) -> None:
        if len(what) == 1:
            place = self.places[what[0]]
            self.waiting.append((slice(place, place + 1), done))
        else:
            self.waiting.append((list(map(self.places.__getitem__, what)), done))

    def take(self, replies: Sequence[Any]) -> None:
        """Answer by these replies: one for each number, or a single one of MGET for all."""
        if len(replies) < len(self.places):
            (reply,) = replies
            replies = reply if isinstance(reply, list) else [reply] * len(self.places)
        try:
            self.counts = list(map(int, replies))
        except (TypeError, ValueError):
            self.counts = list(map(_number, replies))
        self.answer()


class ScriptBatch(BatchKind, ABC, Generic[T]):
    """The requests that one script is called for."""

    # How many keys and arguments the script has for each of what is wanted.
    keys_each: ClassVar[int] = 1
    args_each: ClassVar[int]

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script
        self.wanted: list[T] = []

    @abstractmethod
    def pack(self, packed: PackedNames) -> tuple[list[bytes], list[bytes]]:
        """Of each that is wanted: its keys in one piece, and its arguments in one."""

    def calls(self, packed: PackedNames, is_cluster: bool) -> "list[Call]":
        """One call, or on a Cluster one for each slot."""
        keys, args = self.pack(packed)
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


class IncrBatch(ScriptBatch[tuple[str, int]]):
    """Changes, as (name, delta)."""

    keys_each = 2
    args_each = 2

    def pack(self, packed: PackedNames) -> tuple[list[bytes], list[bytes]]:
        keys, args = [], []
        for name, delta in self.wanted:
            key, field, field_and_one = packed.counters[name]
            keys.append(key)
            args.append(field_and_one if delta == 1 else field + pack_word(delta))
        return keys, args

    def new_weight(self) -> int:
        """The weight of the counters that were raised to 1: they are new."""
        if 1 not in self.counts:
            return 0
        each = zip(self.wanted, self.counts, strict=True)
        return sum(weight(name) for (name, delta), count in each if count == 1 and delta == 1)


class TokenBatch(ScriptBatch[tuple[str, int, Rate]]):
    """(key of a bucket, tokens, rate)"""

    args_each = 4

    def pack(self, packed: PackedNames) -> tuple[list[bytes], list[bytes]]:
        now = pack_word(time.time_ns() // 1000)
        keys = [pack_word(bucket) for bucket, _, _ in self.wanted]
        return keys, [now + pack_word(tokens) + rate.packed for _, tokens, rate in self.wanted]


class Call:
    """One call of a ScriptBatch's script: for all its keys, or for those in these places."""

    def __init__(
        self,
        batch: ScriptBatch[Any],
        places: list[int] | None,
        keys: list[bytes],
        args: list[bytes],
    ) -> None:
        self._batch = batch
        self._places = places
        self._keys = keys
        self._args = args

    def command(self, *, in_full: bool = False) -> Command:
        batch = self._batch
        return batch.script.call(
            self._keys,
            self._args,
            keys_each=batch.keys_each,
            args_each=batch.args_each,
            in_full=in_full,
        )

    def take(self, reply: Any) -> bool:
        """Store the reply's numbers; returns True if Redis does not know the script."""
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
    return failure(wrong) if wrong else counts

"""What one batch wants of one script: which keys and arguments, and who hears which of the numbers.

A script is called once for all of them, on a Cluster once a slot.
"""

import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, ClassVar, TypeVar

from ..errors import NoRoom
from .cluster import slot_of_key
from .keys import Keys, digest, weight
from .replies import failure, is_unknown_script
from .scripts import Script
from .wire import Command, pack_word, tell

# How lua/counters/add.lua begins to say that a trial has no room for another counter.
FULL = "NOROOM "
# Names kept as they go over the wire, and how long their paths may be: some megabytes at most.
KEPT_WORDS = 16_384
LONGEST_KEPT = 256

T = TypeVar("T")

# Hears the numbers that were asked for, in order, or what went wrong.
Counts = Callable[[list[int] | Exception], None]


class Rate:
    """What one address may change: so many counters a second, and so many at once."""

    def __init__(self, a_second: float, at_once: int) -> None:
        self.a_second = a_second
        each = round(1_000_000 / a_second)
        # As they go over the wire.
        self.words = pack_word(each) + pack_word(each * at_once)


class Kept(dict[str, T]):
    """What is made of names and paths; the latest are kept ready."""

    def __init__(self, make: Callable[[str], T]) -> None:
        self._make = make

    def __missing__(self, name: str) -> T:
        made = self._make(name)
        if len(name) <= LONGEST_KEPT:
            if len(self) >= KEPT_WORDS:
                self.clear()
            self[name] = made
        return made


class Words:
    """How it goes over the wire: a counter's name as key and field, a path as its version's key."""

    def __init__(self, keys: Keys) -> None:
        self.counters = Kept(lambda name: (pack_word(keys.counts(name)), pack_word(name)))
        self.versions = Kept(lambda path: pack_word(keys.page(digest(path), "version")))
        self.accounts_version = pack_word(keys.accounts_version)
        # Of counters; asked for on a Cluster alone.
        self.slots = Kept(lambda name: slot_of_key(keys.counts(name).encode()))

    def clear(self) -> None:
        """Counters lie elsewhere from now on."""
        self.counters.clear()
        self.slots.clear()


class Lot(ABC):
    """The counters that one script is called for."""

    # Arguments of the script for each counter.
    width: ClassVar[int]

    def __init__(self, script: Script) -> None:
        self.script = script
        # Which of the counters are this request's, and who hears of them.
        self.waiting: list[tuple[Sequence[int], Counts]] = []
        # What was found.
        self.counts: list[Any] = []

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

    def answer(self) -> None:
        # Taken off the list first: nobody is told twice, whatever goes wrong further on.
        waiting, self.waiting = self.waiting, []
        counts = self.counts
        is_sound = set(map(type, counts)) <= {int}
        count_at = counts.__getitem__
        for places, done in waiting:
            mine = list(map(count_at, places))
            tell(done, mine if is_sound else sound(mine))


class Adds(Lot):
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


class Reads(Lot):
    width = 1

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        # Each counter gets the next place when it is first looked for.
        self.places: defaultdict[str, int] = defaultdict(count().__next__)
        self.place = self.places.__getitem__

    def packed(self, words: Words) -> tuple[list[bytes], list[bytes]]:
        pairs = list(map(words.counters.__getitem__, self.places))
        return [key for key, _ in pairs], [field for _, field in pairs]


class Spends(Lot):
    width = 4

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.spends: list[tuple[str, int, Rate]] = []

    def packed(self, words: Words) -> tuple[list[bytes], list[bytes]]:
        now = pack_word(time.time_ns() // 1000)
        keys = [pack_word(bucket) for bucket, _, _ in self.spends]
        return keys, [now + pack_word(tokens) + rate.words for _, tokens, rate in self.spends]


_ONE = pack_word(1)


class Call:
    """One call of a lot's script, for all of its counters or those in these places."""

    def __init__(
        self, lot: Lot, places: list[int] | None, keys: list[bytes], args: list[bytes]
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


def sound(counts: list[Any]) -> list[int] | Exception:
    """These numbers, or what is wrong with one of them."""
    wrong = next((each for each in counts if isinstance(each, Exception)), None)
    if wrong and str(wrong).startswith(FULL):
        return NoRoom(str(wrong).removeprefix(FULL).capitalize())
    return failure(wrong) if wrong else counts

"""What requests ask of a batch, in RESP, Redis's protocol.

Busy sites ask for the same few counters again and again, so a prepared request keeps what it asks
(api/fast_requests.py), and requests of one batch that ask the same are sent to Redis once.
"""

from collections.abc import Callable, Sequence
from sys import getsizeof
from typing import NamedTuple, TypeVar

from .cluster import slot_of_key
from .connection import Command, pack_word
from .keys import Keys, digest

# Names that are cached in their packed form, and how much memory one may take: some megabytes at
# most. By their characters it would be far more, since a wide one makes four bytes of each.
MAX_KEPT_WORDS = 16_384
MAX_KEPT_NAME_BYTES = 320
# What each of several changes takes besides its name and bytes.
CHANGE_OVERHEAD_BYTES = 130

_GET = b"*2\r\n$3\r\nGET\r\n"
_HGET = b"*3\r\n$4\r\nHGET\r\n"
_ONE = pack_word(1)

T = TypeVar("T")


class Memo(dict[str, T]):
    """A cache: name -> `make(name)`. When it is full, all of it is dropped."""

    def __init__(self, make: Callable[[str], T]) -> None:
        self._make = make

    def __missing__(self, name: str) -> T:
        made = self._make(name)
        if getsizeof(name) <= MAX_KEPT_NAME_BYTES:
            if len(self) >= MAX_KEPT_WORDS:
                self.clear()
            self[name] = made
        return made


class PackedRead:
    """Commands that read one number each."""

    __slots__ = ("_slots", "commands", "size", "split")

    def __init__(self, commands: Sequence[Command]) -> None:
        self.commands = commands
        self.size = len(commands)
        self._slots: list[int] = []
        # On a Cluster, the nodes of the commands and this read in parts, as it was split last.
        self.split: tuple[list[str], list[tuple[str, list[int], PackedRead]]] = ([], [])

    @property
    def kept_bytes(self) -> int:
        """About how much memory it takes."""
        return sum(map(getsizeof, self.commands))

    @property
    def slots(self) -> list[int]:
        """The slot of each command, which only a Cluster has."""
        self._slots = self._slots or [slot_of_key(each) for each in self.commands]
        return self._slots


class Moment(NamedTuple):
    """When views are counted, for lua/counters/count.lua: a month such as 202611, and packed day,
    hour, oldest hour, and for how many ms hours and the month are kept; the last also as it is."""

    month: int
    packed: bytes
    days_ms: int


class PackedChange:
    """(name, delta) changes of counters."""

    # Few objects, since thousands of prepared requests are colder than any cache.
    __slots__ = (
        "_dated",
        "_each",
        "_names",
        "_parts",
        "args",
        "changes",
        "is_rise",
        "keys",
        "size",
    )

    def __init__(
        self,
        names: "PackedNames",
        changes: Sequence[tuple[str, int]],
        packed: Sequence[tuple[bytes, bytes]],
    ) -> None:
        """`packed` has for each its two keys in one piece, and its field."""
        self._names = names
        self.changes = changes
        self.size = len(changes)
        self.keys = b"".join([keys for keys, _ in packed])
        # Fields and deltas in turn.
        self.args = b"".join(
            [
                field + (_ONE if delta == 1 else pack_word(delta))
                for (_, field), (_, delta) in zip(packed, changes, strict=True)
            ]
        )
        # Several of the same rise are made at once, and each still gets the count of its own.
        self.is_rise = self.size == 1 and changes[0][1] == 1
        self._each = packed if self.size > 1 else ()
        self._parts: list[tuple[list[int], PackedChange]] = []
        self._dated = 0, b""

    def keys_in(self, month: int) -> bytes:
        """The keys of each change, with those that tell when its page was viewed."""
        if self._dated[0] != month:
            each = zip(self._each or [(self.keys, b"")], self.changes, strict=True)
            keys = [keys + self._names.dated(name, month) for (keys, _), (name, _) in each]
            self._dated = month, b"".join(keys)
        return self._dated[1]

    @property
    def hours_of_group(self) -> bytes:
        """The key of the views of all pages of a group, that of the first change."""
        return pack_word(Keys.hours_beside(self.keys.partition(b"\r\n")[2]))

    @property
    def kept_bytes(self) -> int:
        """About how much memory it takes."""
        # The keys of days and hours are longer than the others.
        packed = len(self.keys) * (4 if self._names.is_dated else 1) + len(self.args)
        names = sum(getsizeof(name) for name, _ in self.changes)
        each = packed + CHANGE_OVERHEAD_BYTES * self.size if self._each else 0
        return packed + names + each

    def rise_by(self, number: int) -> bytes:
        """The arguments of several of this rise."""
        return self.args.removesuffix(_ONE) + pack_word(number)

    @property
    def slot(self) -> int:
        """The slot of its first counter, which only a Cluster has."""
        return slot_of_key(self.keys)

    @property
    def parts(self) -> "list[tuple[list[int], PackedChange]]":
        """The same for one slot each, and the places of their counters in this one."""
        if not self._parts:
            slots: dict[int, list[int]] = {}
            for place, (key, _) in enumerate(self._each or [(self.keys, b"")]):
                slots.setdefault(slot_of_key(key), []).append(place)
            self._parts = [(there, self._part(there)) for there in slots.values()]
        return self._parts

    def _part(self, places: list[int]) -> "PackedChange":
        if len(places) == self.size:
            return self
        changes, packed = zip(*((self.changes[i], self._each[i]) for i in places), strict=True)
        return PackedChange(self._names, changes, packed)


class PackedNames:
    """Packs what is asked of counters and of pages by their names."""

    def __init__(self, keys: Keys, *, is_dated: bool = False) -> None:
        """`is_dated` if views are counted by day, too."""
        self.is_dated = is_dated
        self._keys = keys
        self._counters = Memo(lambda name: _packed_counter(keys.counts(name), name))
        self._reads = Memo(lambda name: _HGET + pack_word(keys.counts(name)) + pack_word(name))
        self._versions = Memo(
            lambda path: PackedRead((_GET + pack_word(keys.page(digest(path), "version")),))
        )

    def read(self, names: Sequence[str]) -> PackedRead:
        """The counts of these counters."""
        return PackedRead(tuple(map(self._reads.__getitem__, names)))

    def version(self, path: str) -> PackedRead:
        """The version of an article's comments."""
        return self._versions[path]

    def change(self, changes: Sequence[tuple[str, int]]) -> PackedChange:
        return PackedChange(self, changes, [self._counters[name] for name, _ in changes])

    def dated(self, name: str, month: int) -> bytes:
        """The keys of a page's views, by hours and by the days of this month."""
        path = name.partition(" ")[2]
        return pack_word(self._keys.hours(path)) + pack_word(self._keys.days(path, month))

    def clear(self) -> None:
        """Forget counters' keys, since the seed or the number of buckets has changed."""
        self._counters.clear()
        self._reads.clear()


def _packed_counter(key: str, name: str) -> tuple[bytes, bytes]:
    return pack_word(key) + pack_word(Keys.numbers_beside(key)), pack_word(name)

"""Changes of counters as a batch sends them, in RESP, Redis's protocol."""

from collections.abc import Sequence
from sys import getsizeof

from ..driver.cluster import slot_of_key
from ..driver.connection import pack_word
from ..driver.keys import Keys
from ..driver.reads import Memo, PackedRead
from ..model import NO_ORIGIN, Origin
from .names import is_view_counter

# The bytes of each of several changes in addition to its name and value.
CHANGE_OVERHEAD_BYTES = 130

_HGET = b"*3\r\n$4\r\nHGET\r\n"
_ONE = pack_word(1)
# The source of a view and its bot, if neither is given.
_NO_ORIGIN = pack_word(""), b""


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
        "is_one_view",
        "is_rise",
        "is_view",
        "keys",
        "origin",
        "size",
    )

    def __init__(
        self,
        names: "PackedNames",
        changes: Sequence[tuple[str, int]],
        packed: Sequence[tuple[bytes, bytes]],
        origin: tuple[bytes, bytes] = _NO_ORIGIN,
    ) -> None:
        """`packed` has for each its two keys in one piece, and its field; `origin` the source and
        the bot of all, packed, the latter b"" for none."""
        self._names = names
        self.changes = changes
        self.origin = origin
        self.size = len(changes)
        self.keys = b"".join([keys for keys, _ in packed])
        # Fields and deltas in turn.
        self.args = b"".join(
            [
                field + (_ONE if delta == 1 else pack_word(delta))
                for (_, field), (_, delta) in zip(packed, changes, strict=True)
            ]
        )
        # Equal increments are combined, and each request still gets its own count.
        self.is_rise = self.size == 1 and changes[0][1] == 1
        self.is_view = any(is_view_counter(name) for name, _ in changes)
        # And no bot is given, unless the client is one.
        self.is_one_view = self.is_rise and self.is_view and not origin[1]
        self._each = packed if self.size > 1 else ()
        self._parts: list[tuple[list[int], PackedChange]] = []
        self._dated = 0, b""

    def keys_on(self, day: int) -> bytes:
        """The keys of each change, including those of its page's statistics."""
        if self._dated[0] != day:
            each = zip(self._each or [(self.keys, b"")], self.changes, strict=True)
            keys = [keys + self._names.dated(name, day) for (keys, _), (name, _) in each]
            self._dated = day, b"".join(keys)
        return self._dated[1]

    def shares_on(self, day: int) -> bytes:
        """The keys of a share of the site's statistics, that of the first change's group."""
        shares = Keys.shares_beside(self.keys.partition(b"\r\n")[2], day)
        return b"".join(map(pack_word, shares))

    def noted(self, number: int, noted: bytes) -> bytes:
        """The arguments of an increment by this number, or of one change, with the notes of
        each."""
        if not self._each:
            return (self.args if number == 1 else self.rise_by(number)) + noted
        deltas = (_ONE if delta == 1 else pack_word(delta) for _, delta in self.changes)
        fields = zip(self._each, deltas, strict=True)
        return b"".join([field + delta + noted for (_, field), delta in fields])

    @property
    def kept_bytes(self) -> int:
        """About how much memory it takes."""
        # The keys of days and hours are longer than the others.
        packed = len(self.keys) * (6 if self._names.is_dated else 1) + len(self.args)
        names = sum(getsizeof(name) for name, _ in self.changes)
        each = packed + CHANGE_OVERHEAD_BYTES * self.size if self._each else 0
        origin = 0 if self.origin is _NO_ORIGIN else sum(map(getsizeof, self.origin))
        return packed + names + each + origin

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
        return PackedChange(self._names, changes, packed, self.origin)


class PackedNames:
    """Packs requests for counters by name."""

    def __init__(self, keys: Keys, *, is_dated: bool = False) -> None:
        """`is_dated` if views are counted by day, too."""
        self.is_dated = is_dated
        self._keys = keys
        self._counters = Memo(lambda name: _packed_counter(keys.counts(name), name))
        self._reads = Memo(lambda name: _HGET + pack_word(keys.counts(name)) + pack_word(name))

    def read(self, names: Sequence[str]) -> PackedRead:
        """The counts of these counters."""
        return PackedRead(tuple(map(self._reads.__getitem__, names)))

    def change(
        self, changes: Sequence[tuple[str, int]], origin: Origin = NO_ORIGIN
    ) -> PackedChange:
        packed = [self._counters[name] for name, _ in changes]
        if origin is NO_ORIGIN:
            return PackedChange(self, changes, packed)
        bot = pack_word(origin.bot) if origin.bot else b""
        return PackedChange(self, changes, packed, (pack_word(origin.source), bot))

    def dated(self, name: str, day: int) -> bytes:
        """The keys of a page's views on this day."""
        path, keys, month = name.partition(" ")[2], self._keys, day // 100
        beside = (
            keys.hours(path),
            keys.days(path, month),
            keys.bots(path, month),
            keys.visitors(path, day),
            keys.read_beside(path, day),
        )
        return b"".join(map(pack_word, beside))

    def clear(self) -> None:
        """Forget counters' keys, since the seed or the number of buckets has changed."""
        self._counters.clear()
        self._reads.clear()


def _packed_counter(key: str, name: str) -> tuple[bytes, bytes]:
    return pack_word(key) + pack_word(Keys.numbers_beside(key)), pack_word(name)

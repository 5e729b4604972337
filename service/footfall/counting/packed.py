"""Changes of counters as a batch sends them, in RESP, Redis's protocol."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from sys import getsizeof

from ..counters import is_view_counter, view_counter, viewed_page
from ..driver.cluster import slot_of_key
from ..driver.commands import pack_word
from ..driver.keys import GROUPS, Keys, ViewKeys
from ..driver.reads import Memo, PackedRead
from ..model import NO_ORIGIN, Origin

# The bytes of each of several changes in addition to its name and value.
CHANGE_OVERHEAD_BYTES = 130
# The bytes of what is known of a page's views, with its keys.
PAGE_BYTES = 500

# Views that follow, at least, until a page is placed in the list of the most viewed ones again.
LEAST_LEFT = 3

_HGET = b"*3\r\n$4\r\nHGET\r\n"
_ONE = pack_word(1)
# The source of a view and its bot, if neither is given.
NO_SOURCE = pack_word("")
NO_PACKED_ORIGIN = NO_SOURCE, b""


class Page:
    """What this process knows of the views of a page: its keys on a day, packed, if the hour is
    open, and how many views by people may follow until it places the page in the list of the most
    viewed ones again."""

    __slots__ = (
        "_given",
        "_keys",
        "_views",
        "counter",
        "day",
        "days",
        "left",
        "opened",
        "visitors",
    )

    def __init__(self, keys: ViewKeys, counter: str) -> None:
        self._keys = keys
        self.counter = pack_word(counter)
        self.day = 0
        # The salt of when this process has opened the hour (statistics/visits.py).
        self.opened = -1
        self.left = 0

    def on(self, day: int) -> None:
        """The keys are those of this day."""
        if self.day != day:
            self.day = day
            self.days = pack_word(self._keys.days(day // 100))
            self.visitors = pack_word(self._keys.visitors(day))
            self._views = self._given = self.left = 0

    def to_open(self, people: int) -> bytes:
        """The keys that the first views of an hour need, so many of them by people, but for those
        of its counter and of visitors."""
        self.left -= people
        if people:
            # A list is to find pages: to place a page again when its views have doubled is enough.
            self._views += self._given - self.left
            self._given = self.left = max(LEAST_LEFT, self._views)
        keys, day = self._keys, self.day
        others = map(pack_word, (keys.hours, keys.bots(day // 100), keys.read(day)))
        return b"".join([self.days, *others])


class PackedChange:
    """(name, delta) changes of counters."""

    # Few objects, since thousands of prepared requests are colder than any cache.
    __slots__ = (
        "_each",
        "_names",
        "_parts",
        "args",
        "changes",
        "is_rise",
        "is_view",
        "keys",
        "origin",
        "page",
        "size",
    )

    def __init__(
        self,
        names: "PackedNames",
        changes: Sequence[tuple[str, int]],
        packed: Sequence[tuple[bytes, bytes]],
        origin: tuple[bytes, bytes] = NO_PACKED_ORIGIN,
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
                field + pack_delta(delta)
                for (_, field), (_, delta) in zip(packed, changes, strict=True)
            ]
        )
        # Equal increments are combined, and each request still gets its own count.
        self.is_rise = self.size == 1 and changes[0][1] == 1
        self.is_view = any(is_view_counter(name) for name, _ in changes)
        # Of one view, if views are dated.
        is_one = names.is_dated and self.is_rise and self.is_view
        self.page = names.pages[viewed_page(changes[0][0])] if is_one else None
        self._each = packed if self.size > 1 else ()
        self._parts: list[tuple[list[int], PackedChange]] = []

    def page_of(self, name: str) -> Page:
        return self._names.pages[viewed_page(name)]

    @property
    def each(self) -> Iterator[tuple[bytes, bytes, str, int]]:
        """Each change: its keys, its field and delta, both packed, its name and its delta."""
        for place, (name, delta) in enumerate(self.changes):
            if self._each:
                keys, field = self._each[place]
                yield keys, field + pack_delta(delta), name, delta
            else:
                yield self.keys, self.args, name, delta

    def shares_on(self, day: int) -> bytes:
        """The keys of the share of all numbers that the first change's group has."""
        return _shares(self.keys.partition(b"\r\n")[2].partition(b"}")[0], day)

    @property
    def kept_bytes(self) -> int:
        """About how much memory it takes."""
        packed = len(self.keys) + len(self.args)
        names = sum(getsizeof(name) for name, _ in self.changes)
        each = packed + CHANGE_OVERHEAD_BYTES * self.size if self._each else 0
        page = PAGE_BYTES if self.page else 0
        origin = 0 if self.origin is NO_PACKED_ORIGIN else sum(map(getsizeof, self.origin))
        return packed + names + each + page + origin

    def rise_by(self, number: int) -> bytes:
        """The arguments of several of this rise."""
        return self.args.removesuffix(_ONE) + pack_delta(number)

    @property
    def slot(self) -> int:
        """The slot of its first counter, which only a Cluster has."""
        return slot_of_key(self.keys)

    @property
    def parts(self) -> "list[tuple[list[int], PackedChange]]":
        """A change for each slot, and the places of their counters in this one."""
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
        self.pages = Memo(lambda path: Page(keys.views(path), keys.counts(view_counter(path))))
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
        source = pack_word(origin.source) if origin.source else NO_SOURCE
        return PackedChange(self, changes, packed, (source, bot))

    def clear(self) -> None:
        """Forget counters' keys, since the seed or the number of buckets has changed."""
        self._counters.clear()
        self.pages.clear()
        self._reads.clear()


@lru_cache(2 * GROUPS)
def _shares(group: bytes, day: int) -> bytes:
    return b"".join(map(pack_word, Keys.shares_beside(group, day)))


def _packed_counter(key: str, name: str) -> tuple[bytes, bytes]:
    return pack_word(key) + pack_word(Keys.numbers_beside(key)), pack_word(name)


def pack_delta(delta: int) -> bytes:
    return _ONE if delta == 1 else pack_word(delta)

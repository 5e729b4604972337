"""The words of a call of lua/counters/count.lua, but for the first ones."""

from collections.abc import Iterable
from typing import Protocol

from ..counters import is_view_counter
from ..driver.commands import pack_word
from .packed import NO_SOURCE, PackedChange, Page

_SEEN, _FIRST, _UNDATED, _OTHER = map(pack_word, ("seen", "first", "undated", "other"))
# Field, delta, what it is, source, and the numbers of people and of bots.
ARGS_EACH = 6


class Seen(Protocol):
    """Who viewed a page: `noted` has the numbers of people and of bots and who they are, packed;
    `words` is how many words say who, and `people` of how many people."""

    noted: bytes
    people: int
    words: int


def bots_of(seen: Seen) -> int:
    """How many views are by bots."""
    return seen.words - seen.people


class SeenTogether:
    """What several views of one page have to note together."""

    __slots__ = ("noted", "people", "words")

    def __init__(self, people: Iterable[bytes], bots: Iterable[bytes]) -> None:
        people, bots = [*people], [*bots]
        self.people, self.words = len(people), len(people) + len(bots)
        counts = pack_word(len(people)) + pack_word(len(bots))
        self.noted = b"".join([counts, *people, *bots])


NOBODY = SeenTogether((), ())


class CountWords:
    """The words of the changes of a day. Of views of an open hour by nobody that is to be noted,
    the plain ones, a caller adds the key of the counter, and its field and delta."""

    def __init__(self, day: int) -> None:
        self._day = day
        self.plain_keys: list[bytes] = []
        self.plain_args: list[bytes] = []
        self._packed_keys: list[bytes] = []
        self._packed_args: list[bytes] = []
        # How many other changes there are, and their keys and arguments.
        self.size = self._keys = self._args = 0

    @property
    def numbers(self) -> tuple[int, int]:
        """How many keys and arguments there are."""
        plain = len(self.plain_keys)
        return plain + self._keys, 2 * plain + self._args

    def packed(self, first_keys: bytes, first_args: bytes) -> list[bytes]:
        """With those that come before the changes."""
        keys = [first_keys, *self.plain_keys, *self._packed_keys]
        number = pack_word(len(self.plain_keys))
        return [*keys, first_args, number, *self.plain_args, *self._packed_args]

    def add_first(
        self, keys: bytes, args: bytes, page: Page, views: int, source: bytes, seen: Seen
    ) -> None:
        """Views of an hour that may not be open. `keys` are those of the counter and of its group's
        numbers, `args` its field and delta."""
        page.on(self._day)
        to_open = page.to_open(views - bots_of(seen))
        self._add(keys + to_open, 6, args, _FIRST, page, source, seen)

    def add_seen(self, args: bytes, page: Page, source: bytes, seen: Seen) -> None:
        """Views of an open hour."""
        self._packed_keys += page.counter, page.days
        if seen.people:
            self._packed_keys.append(page.visitors)
        self._packed_args += args, _SEEN, source, seen.noted
        self.size += 1
        self._keys += 3 if seen.people else 2
        self._args += ARGS_EACH + seen.words

    def add_each(self, change: PackedChange, times: int, seen: Seen) -> None:
        """Each of several changes, or one that is no view, so many times; who is seen is noted with
        the first."""
        for _ in range(times):
            for keys, args, name, delta in change.each:
                page = change.page_of(name) if is_view_counter(name) else None
                if page is None:
                    self._add(keys, 2, args, _OTHER)
                    continue
                if delta > 0:
                    self.add_first(keys, args, page, delta, change.origin[0], seen)
                else:
                    page.on(self._day)
                    self._add(keys + page.days, 3, args, _UNDATED)
            seen = NOBODY

    def _add(
        self,
        keys: bytes,
        number: int,
        args: bytes,
        what: bytes,
        page: Page | None = None,
        source: bytes = NO_SOURCE,
        seen: Seen = NOBODY,
    ) -> None:
        if page and seen.people:
            keys += page.visitors
            number += 1
        self._packed_keys.append(keys)
        self._packed_args.append(args + what + source + seen.noted)
        self.size += 1
        self._keys += number
        self._args += ARGS_EACH + seen.words

"""Counters that an operator wants to see, or to be rid of: found by walking over all of them.

How old a counter is nobody knows, so they are judged by path, type and count. Services may go on:
what has changed since it was judged stays, and no step keeps Redis busy for long.
"""

import re
from collections.abc import AsyncIterator, Sequence
from fnmatch import translate
from typing import NamedTuple

from ..driver.client import Connected
from ..driver.keys import Keys, bytes_of
from ..driver.scripts import Scripts
from ..store.counters import walked

# Counters that are removed in one step: half a millisecond.
AT_ONCE = 250


class Wanted:
    """Counters of such types and paths, all of them if none is named, with counts below a bound."""

    def __init__(
        self, patterns: Sequence[str] = (), types: Sequence[str] = (), below: int | None = None
    ) -> None:
        self._path = re.compile("|".join(map(translate, patterns)) or "(?s:.*)")
        self._types = frozenset(types)
        self._below = below

    def has(self, name: str, count: int) -> bool:
        type, _, path = name.partition(" ")
        return (
            (not self._types or type in self._types)
            and (self._below is None or count < self._below)
            and self._path.match(path) is not None
        )


class Part(NamedTuple):
    """What was found in one hash, as it lies there. `walked` counts others, too."""

    key: str
    counters: dict[bytes, bytes]
    walked: int

    @property
    def bytes(self) -> int:
        """About what they take."""
        return sum(bytes_of(len(field)) for field in self.counters)


async def find(redis: Connected, keys: Keys, wanted: Wanted) -> AsyncIterator[Part]:
    """Hash by hash; what is no count is left to `footfall check`. Raises StoreUnavailable."""
    async for key, counts in walked(redis, keys.every_counts()):
        found = {
            field: count
            for field, count in counts.items()
            if count.isdigit() and wanted.has(field.decode(errors="replace"), int(count))
        }
        yield Part(key, found, len(counts))


async def remove(scripts: Scripts, part: Part) -> int:
    """How many were still as they had been found. Raises StoreUnavailable."""
    removed, all = 0, list(part.counters.items())
    for at in range(0, len(all), AT_ONCE):
        judged = [word for pair in all[at : at + AT_ONCE] for word in pair]
        removed += await scripts["counters/remove"](counts=part.key, judged=judged)
    return removed

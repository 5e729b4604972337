"""Finds and removes counters: by path, type and count, in a walk over all of them, or by their
names.

The age of a counter is not known. Services may run meanwhile: a counter that has changed since it
was found is not removed, and no step takes Redis long.
"""

import re
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from fnmatch import translate
from typing import NamedTuple

from ..driver.client import RedisClient
from ..driver.keys import Keys, bytes_of
from ..driver.scripts import Scripts
from ..driver.walks import walked
from ..pages import decode_uri
from ..statistics.store import Views

# Counters that one script call removes: half a millisecond.
MAX_REMOVED_A_STEP = 250
# Counters whose counts are read in one round trip.
NAMES_A_TRIP = 500
# How often counters that change meanwhile are searched for again.
MAX_LOOKS = 20


class CounterFilter:
    """A filter: counters of these types, with paths that match one of these shell patterns (all, if
    there are none), also in another spelling, and counts below `below`."""

    def __init__(
        self, patterns: Sequence[str] = (), types: Sequence[str] = (), below: int | None = None
    ) -> None:
        spelled = dict.fromkeys((*patterns, *map(decode_uri, patterns)))
        self._path = re.compile("|".join(map(translate, spelled)) or "(?s:.*)")
        self._types = frozenset(types)
        self._below = below

    def has(self, name: str, count: int) -> bool:
        type, _, path = name.partition(" ")
        return (
            (not self._types or type in self._types)
            and (self._below is None or count < self._below)
            and self._path.match(path) is not None
        )


class MatchingCounters(NamedTuple):
    """The matching counters of one hash, as field -> count; `walked` is the number of all."""

    key: str
    counters: dict[bytes, bytes]
    walked: int

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        return sum(bytes_of(len(field)) for field in self.counters)


async def find(
    redis: RedisClient, keys: Keys, wanted: CounterFilter
) -> AsyncIterator[MatchingCounters]:
    """Matching counters, hash by hash, without damaged ones. Raises StoreUnavailable."""
    async for key, counts in walked(redis, keys.every_counts()):
        matching = {
            field: count
            for field, count in counts.items()
            if count.isdigit() and wanted.has(field.decode(errors="replace"), int(count))
        }
        yield MatchingCounters(key, matching, len(counts))


async def remove(scripts: Scripts, views: Views, part: MatchingCounters) -> int:
    """Remove counters that have not changed, and when their pages were viewed; returns how many.

    Raises StoreUnavailable.
    """
    removed, all = 0, list(part.counters.items())
    for at in range(0, len(all), MAX_REMOVED_A_STEP):
        some = all[at : at + MAX_REMOVED_A_STEP]
        removed += await scripts["counters/remove"](
            numbers=Keys.numbers_beside(part.key),
            counts=part.key,
            judged=[word for pair in some for word in pair],
        )
        await views.forget([name.decode(errors="replace") for name, _ in some])
    return removed


async def remove_named(
    redis: RedisClient, scripts: Scripts, keys: Keys, views: Views, names: Sequence[str]
) -> int:
    """Remove the counters with these names, also those that change meanwhile; returns their number.

    Raises StoreUnavailable.
    """
    removed = 0
    for _ in range(MAX_LOOKS):
        parts = await _parts_of(redis, keys, names)
        if not parts:
            break
        for part in parts:
            removed += await remove(scripts, views, part)
    return removed


async def _parts_of(redis: RedisClient, keys: Keys, names: Sequence[str]) -> list[MatchingCounters]:
    """Which of these counters exist, by their hashes."""
    fields: defaultdict[str, dict[bytes, bytes]] = defaultdict(dict)
    for at in range(0, len(names), NAMES_A_TRIP):
        some = names[at : at + NAMES_A_TRIP]
        counts = await redis.ask_masters(*(("HGET", keys.counts(name), name) for name in some))
        for name, count in zip(some, counts, strict=True):
            if count is not None:
                fields[keys.counts(name)][name.encode()] = count
    return [MatchingCounters(key, counters, len(counters)) for key, counters in fields.items()]

"""Counters for administrators: the highest ones, by words of their paths, and corrections."""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..accounts.store.log import ModerationLog
from ..counters import VIEWS, is_page
from ..counting.store import Counters, CounterWalk
from ..model import NO_VIEWS, Caller

# Of one step of a search.
MAX_FOUND = 50
NO_COUNTS: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class SearchStep:
    """The highest of one step as (count, type, path); `next` is where to continue, 0 at the end.

    `matching` counters of it match, and `share` of all have been looked at.
    """

    found: list[tuple[int, str, str]]
    matching: int
    next: int
    share: float


async def search(
    walk: CounterWalk,
    *,
    words: str = "",
    type: str = "",
    first: int = 0,
    known: Mapping[str, int] = NO_COUNTS,
) -> SearchStep:
    """One step through all counters, from this place on. Those that are `known` are found by the
    first step, wherever they are."""
    sought = words.casefold()

    def matching(counts: Mapping[str, int]) -> set[tuple[int, str, str]]:
        matches = set[tuple[int, str, str]]()
        for name, count in counts.items():
            kind, _, path = name.partition(" ")
            if (not type or kind == type) and sought in path.casefold():
                matches.add((count, kind, path))
        return matches

    counts, next = await walk.step(first)
    there, is_end = matching(counts), next >= walk.hashes
    found = there if first else there | matching(known)
    return SearchStep(
        heapq.nlargest(MAX_FOUND, found),
        len(there),
        0 if is_end else next,
        1.0 if is_end else next / walk.hashes,
    )


async def of_path(counters: Counters, types: Sequence[str], path: str) -> Mapping[str, int]:
    """All counters of a path. What is viewed has one, by its type."""
    other = NO_VIEWS if is_page(path) else VIEWS
    types = [type for type in types if type != other]
    counts = await counters.read(counters.names([path], types))
    return dict(zip(types, counts, strict=True))


async def correct(
    counters: Counters,
    log: ModerationLog,
    caller: Caller,
    *,
    path: str,
    type: str,
    was: int,
    now: int,
    reason: str,
) -> int:
    """Change a counter by the difference, so that views meanwhile are counted; the new count."""
    account = caller.viewer.account
    assert account is not None
    # Before the change: none happens without an entry.
    await log.add(
        by=account.id, did="correct", id=f"{type} {path}", was=str(was), now=f"{now}: {reason}"
    )
    return await counters.correct(path, type, now - was)

"""What a check finds, and what corrects it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..comments.store.indexes import HASHES, IndexPlace
from ..comments.store.mending import Fix


class Finding(NamedTuple):
    """A problem of a page and its repair; without one, an operator must decide."""

    text: str
    fixes: Sequence[Fix] = ()


def differing(place: IndexPlace, score: bytes | None) -> str:
    """The problem of an entry with this score, or ""."""
    name, member, wanted = place
    if score is None:
        return "" if wanted is None else f"{name} lacks {member}"
    if wanted is None:
        return f"{name} holds {member}, which does not belong there"
    number = float(score)
    return (
        "" if number == wanted else f"{name} has {member} at {number:.0f} instead of {wanted:.0f}"
    )


def misplaced(place: IndexPlace, score: bytes | None) -> Iterator[Finding]:
    """A finding if a page's entry with this score is wrong."""
    if text := differing(place, score):
        fix = removal_of(place)
        if place.score is not None:
            fix = Fix(place.name, ("ZADD", place.score, place.member))
        yield Finding(text, [fix])


def removal_of(place: IndexPlace) -> Fix:
    return removal(place.name, place.member.encode())


def removal(name: str, member: bytes) -> Fix:
    """What takes an entry out of a page's key."""
    return Fix(name, ("HDEL" if name in HASHES else "ZREM", member))

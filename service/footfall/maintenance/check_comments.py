"""What a comment is compared with: its places in the page's indexes, and the root above it."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..comments.store.indexes import IndexPlace, deleted_by
from ..comments.store.mending import Fix
from .findings import Finding, misplaced, removal_of
from .moment import IndexedComment, PageSnapshot

# Every root that is not deleted is in one of these.
ROOTS = ("newest", "pinned", "heldroots")
ORPHAN = "no page shows it; `footfall comments delete` it, or take its root from a backup"


class KnownBodies(NamedTuple):
    """Comments' bodies as they were read last, and which have no private half."""

    bodies: dict[bytes, bytes | None]
    bare: set[bytes]


def entries_of(short: bytes, body: bytes | None) -> Iterator[tuple[str, bytes]]:
    """All entries that a comment might have, and those that tell whether its root is one."""
    stored = IndexedComment(body, None, None, False, False)
    places, parsed = stored.places(short), stored.parsed
    if places is None or parsed is None:
        return
    for place in (*places, *deleted_by(short.decode(), parsed)):
        yield place.name, place.member.encode()
    if stored.root:
        yield from ((index, stored.root) for index in ROOTS)


def has_news(bodies: KnownBodies, moment: PageSnapshot) -> bool:
    """Was a body changed since it was read? Then its comment has other places."""
    changed = {
        short: comment.body
        for short, comment in moment.comments.items()
        if comment.body not in (None, bodies.bodies[short])
    }
    bodies.bodies.update(changed)
    return bool(changed)


def wrong(moment: PageSnapshot, bare: set[bytes]) -> Iterator[Finding]:
    longest = 0
    for short, stored in moment.comments.items():
        places, parsed = stored.places(short), stored.parsed
        if stored.is_leaving or places is None or parsed is None:
            continue
        longest = max(longest, len(stored.body or b""))
        if stored.status == "deleted":
            yield from _lost(moment, deleted_by(short.decode(), parsed))
            continue
        if short in bare:
            yield _halved(short.decode())
        for place in (*places, *deleted_by(short.decode(), parsed)):
            yield from misplaced(place, moment.score(place))
    yield from _too_long(moment.longest or b"", longest)


def _halved(short: str) -> Finding:
    text = f"private lacks {short}, whose mail and address are lost"
    return Finding(text, [Fix("private", ("HSETNX", short, "{}"))])


def _too_long(known: bytes, longest: int) -> Iterator[Finding]:
    if known.isdigit() and longest > int(known):
        text = f"a comment has {longest} bytes, and longest says {int(known)}"
        yield Finding(text, [Fix("longest", ("SET", longest))])


def _lost(moment: PageSnapshot, places: Iterable[IndexPlace]) -> Iterator[Finding]:
    """A deleted comment that would never be removed, or be removed twice."""
    own, *others = places
    there = [each for each in (own, *others) if moment.score(each)]
    if not there:
        text = f"{own.member} is deleted, and is neither in deleted nor in gone"
        # It can be undone for as long as any other.
        yield Finding(text, [Fix("deleted", ("ZADD", int(moment.version or 0), own.member))])
    for each in there[1:]:
        yield Finding(f"{own.member} is deleted twice: {each.name} holds it", [removal_of(each)])


def rootless_of(moment: PageSnapshot) -> Iterator[tuple[bytes, bytes]]:
    """Replies that are not deleted, and their invisible roots, which may be deleted."""
    for short, stored in moment.comments.items():
        if not stored.root or stored.is_leaving or stored.status == "deleted":
            continue
        if not any(moment.found.get((root, stored.root)) for root in ROOTS):
            yield short, stored.root


def orphaned(moment: PageSnapshot, page: str, short: bytes, root: bytes) -> Iterator[Finding]:
    reply, above = moment.comments[short], moment.comments[root]
    if reply.body is None or reply.is_leaving or reply.status == "deleted":
        return
    what = "gone" if above.body is None else "a reply itself"
    if above.body is None or above.root:
        text = f"{short.decode()}{page} replies below {root.decode()}, which is {what}: {ORPHAN}"
        yield Finding(text)

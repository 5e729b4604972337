"""Which indexes a comment stands in: what scripts keep true, said once for check and restore.

Of a page's indexes lua/includes/indexes.lua says the same, of the site's lua/site/announce.lua;
tests/scripts/test_indexes.py holds both sides to each other.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ..model import Body
from . import codec
from .ids import SHORT, created_ms

# A page's keys, but for `mine:<account>`, of which there is one for each account.
STRINGS = ("path", "version", "longest")
HASHES = ("bodies", "private", "likes", "held", "fingerprints")
INDEXES = ("newest", "liked", "pinned", "replies", "heldroots", "heldreplies")
# The site's, but for `own:<account>`.
SITE_INDEXES = ("recent", "waiting", "spam")
# What else the site is told of each change; a restore makes all of it anew.
DERIVED = ("totals", "total", "authors", "applied", "oldest")


class Place(NamedTuple):
    """A member of an index at a score; None where it must not be."""

    name: str
    member: str
    score: int | None


def indexes_of(id: str, body: Body, likes: int, status: str, *, is_pinned: bool) -> Iterator[Place]:
    """Of its page; `id` is the short one."""
    is_approved = status == "approved"
    at = created_ms(id)
    if body.account:
        yield Place(f"mine:{body.account}", id, None if is_approved else at)
    if root := codec.root_of(body)[:SHORT]:
        yield Place("replies", f"{root}:{id}", 0 if is_approved else None)
        yield Place("heldreplies", f"{root}:{id}", None if is_approved else 0)
    else:
        is_listed = is_approved and not is_pinned
        yield Place("pinned", id, at if is_pinned else None)
        yield Place("newest", id, at if is_listed else None)
        yield Place("liked", id, likes if is_listed else None)
        yield Place("heldroots", id, None if is_approved or is_pinned else at)


def site_indexes_of(id: str, body: Body, status: str) -> Iterator[Place]:
    """Of the site; `recent` holds the newest of those that belong there."""
    at = created_ms(id)
    for index, kind in zip(SITE_INDEXES, ("approved", "waiting", "spam"), strict=True):
        yield Place(index, id, at if status == kind else None)
    if body.account:
        yield Place(f"own:{body.account}", id, None if status == "approved" else at)

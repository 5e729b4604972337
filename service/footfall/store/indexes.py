"""Which indexes a comment stands in, for check and restore.

The scripts have the same rules in lua/includes/indexes.lua, for a page, and in
lua/site/announce.lua, for the site; tests/scripts/test_indexes.py compares both.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ..model import Body
from . import codec
from .ids import SHORT, created_ms

# The keys of a page, except `mine:<account>`, of which each account may have one.
STRINGS = ("path", "version", "longest")
HASHES = ("bodies", "private", "likes", "held", "fingerprints")
INDEXES = ("newest", "liked", "pinned", "replies", "heldroots", "heldliked", "heldreplies")
# The indexes of the site, except `own:<account>`.
SITE_INDEXES = ("recent", "waiting", "spam")
# Other keys of the site that an announcement changes; a restore derives all of them anew.
DERIVED = ("totals", "total", "authors", "faces", "applied")


class Place(NamedTuple):
    """A member of an index and its score; None if it must not be in that index."""

    name: str
    member: str
    score: int | None


def indexes_of(id: str, body: Body, likes: int, status: str, *, is_pinned: bool) -> Iterator[Place]:
    """A comment's place in each index of its page; `id` is the short one."""
    is_approved = status == "approved"
    at = created_ms(id)
    if body.account:
        yield Place(f"mine:{body.account}", id, None if is_approved else at)
    if root := codec.root_of(body)[:SHORT]:
        yield Place("replies", f"{root}:{id}", 0 if is_approved else None)
        yield Place("heldreplies", f"{root}:{id}", None if is_approved else 0)
    else:
        is_listed = is_approved and not is_pinned
        is_held = not is_approved and not is_pinned
        yield Place("pinned", id, at if is_pinned else None)
        yield Place("newest", id, at if is_listed else None)
        yield Place("liked", id, likes if is_listed else None)
        yield Place("heldroots", id, at if is_held else None)
        yield Place("heldliked", id, likes if is_held else None)


def site_indexes_of(id: str, body: Body, status: str) -> Iterator[Place]:
    """A comment's place in each index of the site; `recent` has only the newest of its comments."""
    at = created_ms(id)
    for index, kind in zip(SITE_INDEXES, ("approved", "waiting", "spam"), strict=True):
        yield Place(index, id, at if status == kind else None)
    if body.account:
        yield Place(f"own:{body.account}", id, None if status == "approved" else at)


def notes_of(id: str, body: Body) -> Iterator[Place]:
    """What is written down of a comment before it is stored: on which pages an account wrote."""
    if body.account:
        yield Place(f"pages:{body.account}", id[SHORT:], 0)

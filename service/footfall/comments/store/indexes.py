"""The indexes of a comment, for check and restore; docs/redis-keys.md describes them.

The scripts have the same rules in lua/includes/indexes.lua, for a page, and in
lua/journal/apply.lua, for the site; tests/scripts/test_indexes.py compares both.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ...ids import SHORT, created_ms
from ...model import Body
from . import codec

STRINGS = ("path", "version", "longest")
HASHES = ("bodies", "private", "likes", "held", "fingerprints", "hidden", "decided")
# Keys of visible comments, and of deleted ones.
DELETED = ("deleted", "gone")
INDEXES = (
    "newest",
    "liked",
    "pinned",
    "replies",
    "heldroots",
    "heldliked",
    "heldreplies",
    "mine",
    "nested",
)
# The indexes of the site, except `own:<account>` and `by:<author>`.
SITE_INDEXES = ("recent", "waiting", "spam")
# Other keys that the site makes of the pages' journals; a restore derives all of them again.
DERIVED = ("totals", "total", "authors", "changing", "removals")


class IndexPlace(NamedTuple):
    """A member of an index and its score; None if it must not be in that index."""

    name: str
    member: str
    score: int | None


def indexes_of(
    id: str, body: Body, likes: int, status: str, *, is_pinned: bool
) -> Iterator[IndexPlace]:
    """A comment's place in each index of its page, by its short id; a deleted one has none."""
    is_approved, is_held = status == "approved", status in ("waiting", "spam")
    at = created_ms(id)
    if body.account:
        yield IndexPlace("mine", f"{body.account}:{id}", 0 if is_held else None)
    if root := codec.root_of(body)[:SHORT]:
        yield IndexPlace("replies", f"{root}:{id}", 0 if is_approved else None)
        yield IndexPlace("heldreplies", f"{root}:{id}", 0 if is_held else None)
        parent = codec.parent_of(body)[:SHORT]
        if parent != root and (is_approved or is_held):
            yield IndexPlace("nested", f"{parent}:{id}", 0)
    else:
        is_listed = is_approved and not is_pinned
        is_shown = is_approved or is_held
        yield IndexPlace("pinned", id, at if is_pinned and is_shown else None)
        yield IndexPlace("newest", id, at if is_listed else None)
        yield IndexPlace("liked", id, likes if is_listed else None)
        yield IndexPlace("heldroots", id, at if is_held and not is_pinned else None)
        yield IndexPlace("heldliked", id, likes if is_held and not is_pinned else None)


def deleted_by(id: str, body: Body) -> list[IndexPlace]:
    """Where a deleted comment may stand: by itself, or as one that went with another. It stands in
    exactly one of these places, and every other comment in none."""
    above = dict.fromkeys((codec.root_of(body)[:SHORT], codec.parent_of(body)[:SHORT]))
    places = [IndexPlace("gone", f"{head}:{id}", None) for head in above if head]
    return [IndexPlace("deleted", id, None), *places]


def site_indexes_of(id: str, body: Body, status: str) -> Iterator[IndexPlace]:
    """A comment's place in each index of the site."""
    at, author = created_ms(id), body.tally.decode()
    for index, kind in zip(SITE_INDEXES, ("approved", "waiting", "spam"), strict=True):
        yield IndexPlace(index, id, at if status == kind else None)
    if body.account:
        is_held = status in ("waiting", "spam")
        yield IndexPlace(f"own:{body.account}", id, 0 if is_held else None)
    if author:
        yield IndexPlace(f"by:{author}", id, 0 if status == "approved" else None)


def notes_of(id: str, body: Body) -> Iterator[IndexPlace]:
    """What is noted before a comment is stored: the pages on which an account wrote."""
    if body.account:
        yield IndexPlace(f"pages:{body.account}", id[SHORT:], 0)

"""Each page is a part of one sorted list, whatever its roots are and for every viewer.

The model sorts all roots for every question; the script finds a page's place in two indexes.
"""

import asyncio
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from footfall.data.store import Store
from footfall.model import PUBLIC, STATUSES, Order, Status, Viewer

from .test_comments import ADMIN, BOB, LIKED, NEWEST, OLDEST, Article, rows

_paths = (f"/{n}" for n in count())


class Root(NamedTuple):
    """`is_simultaneous`: it is of the same millisecond as the root before it."""

    status: Status
    likes: int
    is_pinned: bool
    account: str
    is_simultaneous: bool
    id: str = ""

    def is_seen_by(self, viewer: Viewer) -> bool:
        is_own = viewer.account is not None and viewer.account.id == self.account
        return self.status == "approved" or is_own or viewer is ADMIN


def mixes(statuses: Sequence[Status]) -> st.SearchStrategy[list[Root]]:
    root = st.builds(
        Root,
        status=st.sampled_from(statuses),
        likes=st.integers(0, 2),
        is_pinned=st.sampled_from((False, False, False, True)),
        account=st.sampled_from(("", "bob", "eve")),
        is_simultaneous=st.booleans(),
    )
    return st.lists(root, max_size=30)


# All approved, all held, and any.
MIXES = st.sampled_from((("approved",), ("waiting", "spam"), STATUSES)).flatmap(mixes)


async def published(article: Article, mix: Sequence[Root]) -> list[Root]:
    roots = []
    for each in mix:
        comment = article.comment(
            "root", account=each.account, is_simultaneous=each.is_simultaneous
        )
        await article.store.comments.publish(
            comment, each.status, "", by="import", likes=each.likes, is_pinned=each.is_pinned
        )
        roots.append(each._replace(id=comment.id))
    return roots


def in_order(roots: Sequence[Root], order: Order) -> list[str]:
    """Ids sort by age, and so decide between equal likes."""
    found = sorted(
        roots,
        key=lambda each: (each.likes if order == LIKED else 0, each.id),
        reverse=order != OLDEST,
    )
    return [each.id for each in sorted(found, key=lambda each: not each.is_pinned)]


# On every kind of server, in a store that has the pages of all examples.
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    mix=MIXES,
    order=st.sampled_from((NEWEST, OLDEST, LIKED)),
    viewer=st.sampled_from((PUBLIC, BOB, ADMIN)),
    size=st.integers(1, 12),
)
async def test_every_page_is_its_part_of_all_roots_in_their_order(
    store: Store, mix: list[Root], order: Order, viewer: Viewer, size: int
) -> None:
    article = Article(store, next(_paths))
    roots = await published(article, mix)
    wanted = in_order([root for root in roots if root.is_seen_by(viewer)], order)
    firsts = range(len(wanted) + size + 1)
    pages = await asyncio.gather(
        *(article.page(order, first=first, size=size, viewer=viewer) for first in firsts)
    )
    assert [[row.id for row in rows(page)] for page in pages] == [
        wanted[first : first + size] for first in firsts
    ]
    assert {page.roots_total for page in pages} == {len(wanted)}

"""Scripts and `indexes_of` agree: a comment is in exactly the indexes that both name."""

from dataclasses import replace
from itertools import product

import pytest

from footfall.model import STATUSES, Account, Comment, Shown, Status, Viewer
from footfall.store import Store, codec
from footfall.store.ids import SHORT, IdGenerator, created_ms, split
from footfall.store.indexes import (
    INDEXES,
    SITE_INDEXES,
    Place,
    indexes_of,
    site_indexes_of,
)
from footfall.store.moderation import Words

NOW = 1_700_000_000_000
NOBODY, BOB = "", "bob"
ADMIN = Viewer(Account("root", "administrator", "Root", "root@example.com"))
LIKES = 2

_ids = IdGenerator()

# A comment's status, and whether it is pinned.
State = tuple[Status, bool]
ROOT_STATES: list[State] = list(product(STATUSES, (False, True)))
REPLY_STATES: list[State] = list(product(STATUSES, (False,)))


def comment(n: int, account: str, root: Comment | None = None) -> Comment:
    id = _ids.new(NOW + n, "/p")
    above = root.id if root else ""
    return Comment(
        id, "/p", created_ms(id), "<p>a</p>\n", "a", parent=above, root=above, account=account,
        author=account or "ann",
    )  # fmt: skip


async def places(store: Store, names: dict[str, str]) -> set[Place]:
    """Everything that is in these indexes; `names` has the key of each."""
    return {
        Place(name, member.decode(), int(score))
        for name, key in names.items()
        for member, score in await store.redis.client.zrange(key, 0, -1, withscores=True)
    }


async def in_page(store: Store, page: str) -> set[Place]:
    names = (*INDEXES, f"mine:{BOB}", "mine:")
    return await places(store, {name: store.keys.page(page, name) for name in names})


async def in_site(store: Store) -> set[Place]:
    names = (*SITE_INDEXES, f"own:{BOB}", "own:")
    return await places(store, {name: store.keys.site(name) for name in names})


def shown_of(written: Comment) -> Shown:
    return Shown(written.id, written.path, codec.parse_body(codec.body(written)))


def wanted(shown: Shown, likes: int, state: State) -> set[Place]:
    found = indexes_of(shown.id[:SHORT], shown.body, likes, state[0], is_pinned=state[1])
    return {place for place in found if place.score is not None}


@pytest.mark.parametrize("account", [NOBODY, BOB])
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("is_reply", [False, True], ids=["root", "reply"])
async def test_publishing_puts_a_comment_into_its_indexes(
    store: Store, is_reply: bool, status: Status, account: str
) -> None:
    root = comment(1, NOBODY)
    await store.comments.publish(root, "approved", "")
    there = await in_page(store, split(root.id)[1])
    published = comment(2, account, root if is_reply else None)
    change = await store.comments.publish(published, status, "")
    shown = shown_of(published)
    found = await in_page(store, split(root.id)[1])
    assert found == there | wanted(shown, 0, (status, False))
    await store.site.announce(change, NOW)
    expected = site_indexes_of(published.id, shown.body, status)
    assert await in_site(store) == {place for place in expected if place.score is not None}


@pytest.mark.parametrize("account", [NOBODY, BOB])
@pytest.mark.parametrize("is_reply", [False, True], ids=["root", "reply"])
async def test_moderating_and_pinning_move_a_comment_from_any_state_to_any_other(
    store: Store, is_reply: bool, account: str
) -> None:
    root = comment(1, NOBODY)
    await store.comments.publish(root, "approved", "")
    there = await in_page(store, split(root.id)[1])
    moved = comment(2, account, root if is_reply else None)
    await store.comments.publish(moved, "approved", "")
    for _ in range(LIKES):
        await store.comments.like(moved.id, 1, NOW)
    shown = shown_of(moved)
    for before, after in product(REPLY_STATES if is_reply else ROOT_STATES, repeat=2):
        await store.moderation.moderate(shown, before[0], NOW, is_pinned=before[1])
        change = await store.moderation.moderate(shown, after[0], NOW, is_pinned=after[1])
        assert change
        found = await in_page(store, split(root.id)[1])
        assert found == there | wanted(shown, LIKES, after), (before, after)
        await store.site.announce(change, NOW)
        expected = site_indexes_of(moved.id, shown.body, after[0])
        assert await in_site(store) == {place for place in expected if place.score is not None}


@pytest.mark.parametrize("state", ROOT_STATES)
async def test_likes_move_a_root_in_the_index_by_likes_that_it_is_in(
    store: Store, state: State
) -> None:
    root = comment(1, NOBODY)
    await store.comments.publish(root, "approved", "")
    shown = shown_of(root)
    await store.moderation.moderate(shown, state[0], NOW, is_pinned=state[1])
    for delta, likes in ((1, 1), (1, 2), (-1, 1)):
        await store.comments.like(root.id, delta, NOW, ADMIN)
        assert await in_page(store, split(root.id)[1]) == wanted(shown, likes, state)


@pytest.mark.parametrize("state", ROOT_STATES)
async def test_a_root_that_becomes_a_reply_leaves_the_indexes_of_roots(
    store: Store, state: State
) -> None:
    root, moved = comment(1, NOBODY), comment(2, NOBODY)
    for each in (root, moved):
        await store.comments.publish(each, "approved", "")
    await store.moderation.moderate(shown_of(moved), state[0], NOW, is_pinned=state[1])
    (found,) = await store.moderation.whole([moved.id])
    after = replace(found.comment, parent=root.id, root=root.id)
    await store.moderation.moderate(found.shown, None, NOW, words=Words(found, after, False))
    root_places = wanted(shown_of(root), 0, ("approved", False))
    reply_places = wanted(shown_of(after), 0, (state[0], False))
    assert await in_page(store, split(root.id)[1]) == root_places | reply_places


@pytest.mark.parametrize("state", ROOT_STATES)
async def test_a_root_that_is_deleted_is_in_no_index(store: Store, state: State) -> None:
    root = comment(1, BOB)
    await store.comments.publish(root, "approved", "")
    await store.moderation.moderate(shown_of(root), state[0], NOW, is_pinned=state[1])
    await store.moderation.delete(await store.moderation.whole([root.id]), NOW)
    assert await in_page(store, split(root.id)[1]) == set()

"""Scripts and indexes.py agree: a comment is in exactly the indexes that both name."""

from itertools import product

import pytest

from footfall.comments.store import codec
from footfall.comments.store.indexes import (
    DELETED,
    INDEXES,
    SITE_INDEXES,
    IndexPlace,
    deleted_by,
    indexes_of,
    site_indexes_of,
)
from footfall.comments.store.moderation import Actor, Moderated
from footfall.data.store import Store
from footfall.ids import SHORT, IdGenerator, created_ms, split
from footfall.model import STATUSES, Comment, Standing, Status, StoredComment

NOW = 1_700_000_000_000
NOBODY, BOB = "", "bob"
LIKES = 2
MODERATOR = Actor("moderator", "admin")

_ids = IdGenerator()

# A comment's status, and whether it is pinned.
State = tuple[Status, bool]
ROOT_STATES: list[State] = list(product(STATUSES, (False, True)))
REPLY_STATES: list[State] = list(product(STATUSES, (False,)))


def comment(n: int, account: str, root: Comment | None = None, parent: str = "") -> Comment:
    id = _ids.new(NOW + n, "/p")
    above = root.id if root else ""
    return Comment(
        id,
        "/p",
        created_ms(id),
        "<p>a</p>\n",
        "a",
        parent=parent or above,
        root=above,
        account=account,
        author=account or "ann",
    )


async def places(store: Store, names: dict[str, str]) -> set[IndexPlace]:
    """Everything that is in these indexes; `names` has the key of each."""
    return {
        IndexPlace(name, member.decode(), int(score))
        for name, key in names.items()
        for member, score in await store.redis.client.zrange(key, 0, -1, withscores=True)
    }


async def in_page(store: Store, page: str) -> set[IndexPlace]:
    return await places(store, {name: store.keys.page(page, name) for name in INDEXES})


async def in_site(store: Store, *ids: str) -> set[IndexPlace]:
    """What the site's indexes have of these comments."""
    await store.background.finished()
    names = (*SITE_INDEXES, f"own:{BOB}", "own:", f"by:{BOB}", "by:ann")
    every = await places(store, {name: store.keys.site(name) for name in names})
    return {place for place in every if place.member in ids}


def shown_of(written: Comment) -> StoredComment:
    return StoredComment(written.id, written.path, codec.parse_body(codec.body(written)))


def wanted(
    written: Comment, status: Standing, *, likes: int = 0, pin: bool = False
) -> set[IndexPlace]:
    shown = shown_of(written)
    found = indexes_of(shown.id[:SHORT], shown.body, likes, status, is_pinned=pin)
    return {place for place in found if place.score is not None}


def wanted_in_site(written: Comment, status: Standing) -> set[IndexPlace]:
    found = site_indexes_of(written.id, shown_of(written).body, status)
    return {place for place in found if place.score is not None}


async def thread(store: Store, account: str, *, is_reply: bool) -> tuple[Comment, set[IndexPlace]]:
    """A comment that is not stored yet, and what its page has without it: the root and the reply
    that it replies to."""
    root = comment(1, NOBODY)
    parent = comment(2, NOBODY, root)
    for each in (root, parent):
        await store.comments.publish(each, "approved", "")
    there = await in_page(store, split(root.id)[1])
    if is_reply:
        return comment(3, account, root, parent.id), there
    return comment(3, account), there


@pytest.mark.parametrize("account", [NOBODY, BOB])
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("is_reply", [False, True], ids=["root", "reply"])
async def test_publishing_puts_a_comment_into_its_indexes(
    store: Store, is_reply: bool, status: Status, account: str
) -> None:
    published, there = await thread(store, account, is_reply=is_reply)
    await store.comments.publish(published, status, "")
    found = await in_page(store, split(published.id)[1])
    assert found == there | wanted(published, status)
    assert await in_site(store, published.id) == wanted_in_site(published, status)


@pytest.mark.parametrize("account", [NOBODY, BOB])
@pytest.mark.parametrize("is_reply", [False, True], ids=["root", "reply"])
async def test_moderating_and_pinning_move_a_comment_from_any_state_to_any_other(
    store: Store, is_reply: bool, account: str
) -> None:
    moved, there = await thread(store, account, is_reply=is_reply)
    await store.comments.publish(moved, "approved", "")
    for _ in range(LIKES):
        await store.comments.like(moved.id, 1, NOW)
    moderate = store.moderation.moderate
    for before, after in product(REPLY_STATES if is_reply else ROOT_STATES, repeat=2):
        for status, pin in (before, after):
            (shown,) = await store.comments.by_ids([moved.id])
            done = await moderate(shown, status, NOW, MODERATOR, is_pinned=pin)
        assert done == Moderated(before[0], before != after)
        found = await in_page(store, split(moved.id)[1])
        assert found == there | wanted(moved, after[0], likes=LIKES, pin=after[1]), (before, after)
        assert await in_site(store, moved.id) == wanted_in_site(moved, after[0])


@pytest.mark.parametrize("account", [NOBODY, BOB])
@pytest.mark.parametrize("is_reply", [False, True], ids=["root", "reply"])
async def test_deleting_takes_a_comment_out_of_all_indexes_and_restoring_puts_it_back(
    store: Store, is_reply: bool, account: str
) -> None:
    deleted, there = await thread(store, account, is_reply=is_reply)
    await store.comments.publish(deleted, "approved", "")
    page = split(deleted.id)[1]
    for status, pin in REPLY_STATES if is_reply else ROOT_STATES:
        (shown,) = await store.comments.by_ids([deleted.id])
        await store.moderation.moderate(shown, status, NOW, MODERATOR, is_pinned=pin)
        (shown,) = await store.comments.by_ids([deleted.id])
        assert await store.deletions.delete(shown, NOW, MODERATOR) == 0
        assert await in_page(store, page) == there
        assert await in_site(store, deleted.id) == set()
        assert await stands(store, deleted) == ["deleted"]
        assert await store.deletions.restore(deleted.id, NOW, MODERATOR) == 0
        assert await in_page(store, page) == there | wanted(deleted, status, pin=pin)
        assert await in_site(store, deleted.id) == wanted_in_site(deleted, status)
        assert await stands(store, deleted) == []


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("is_nested", [False, True], ids=["of a root", "of a reply"])
async def test_a_reply_goes_with_what_it_replies_to_and_comes_back_with_it(
    store: Store, is_nested: bool, status: Status
) -> None:
    root = comment(1, NOBODY)
    head = comment(2, NOBODY, root) if is_nested else root
    reply = comment(3, BOB, root, head.id)
    for each in (root, head) if is_nested else (root,):
        await store.comments.publish(each, "approved", "")
    await store.comments.publish(reply, status, "")
    page = split(root.id)[1]
    before = await in_page(store, page)
    assert await store.deletions.delete(shown_of(head), NOW, MODERATOR) == 0
    assert await in_page(store, page) == (wanted(root, "approved") if is_nested else set())
    assert await in_site(store, reply.id) == set()
    assert await stands(store, head) == ["deleted"]
    assert await stands(store, reply) == ["gone"]
    assert await store.deletions.restore(head.id, NOW, MODERATOR) == 0
    assert await in_page(store, page) == before
    assert await in_site(store, reply.id) == wanted_in_site(reply, status)
    assert await stands(store, head) == await stands(store, reply) == []


async def stands(store: Store, written: Comment) -> list[str]:
    """Where a comment is among the deleted ones."""
    short, page = split(written.id)
    found = await places(store, {name: store.keys.page(page, name) for name in DELETED})
    there = {(place.name, place.member) for place in found}
    possible = deleted_by(short, shown_of(written).body)
    return [name for name, member, _ in possible if (name, member) in there]

from dataclasses import replace

import pytest

from service.model import PUBLIC, Account, Viewer
from service.store import Store
from service.store import site as site_module
from service.store.comments import Change
from service.store.ids import Mint

BOB = Viewer(Account("bob", "guest", "Bob", "bob@example.com"))

NOW = 1_700_000_000_000
_mint = Mint()


def change(n: int, **fields: object) -> Change:
    """The n-th comment of page /p, approved, when that page shows n comments."""
    id = _mint.new(1_700_000_000_000 + n, "/p")
    return replace(Change(id, "approved", n, n, "", "ann", 1), **fields)  # type: ignore[arg-type]


async def test_an_announcement_may_be_repeated(store: Store) -> None:
    first, second = change(1), change(2)
    for each in (first, second, second, first, second):
        await store.site.announce(each, NOW)
    assert await store.site.total(PUBLIC) == 2
    assert await store.site.recent(10, PUBLIC) == [second.id, first.id]
    assert await store.site.tallies(["ann"]) == {"ann": 2}


async def test_announcements_may_come_in_any_order(store: Store) -> None:
    for n in (3, 1, 2):
        await store.site.announce(change(n), NOW)
    assert await store.site.total(PUBLIC) == 3
    assert await store.site.tallies(["ann"]) == {"ann": 3}


async def test_pages_add_up_to_the_site(store: Store) -> None:
    await store.site.announce(change(1), NOW)
    other = _mint.new(1_700_000_000_000, "/q")
    await store.site.announce(replace(change(5), id=other), NOW)
    assert await store.site.total(PUBLIC) == 6


async def test_a_held_comment_is_in_the_queue_and_in_its_authors_list_only(store: Store) -> None:
    held = change(1, status="waiting", visible=0, account="bob", gained=0)
    await store.site.announce(held, NOW)
    keys = store.keys
    assert await store.redis.client.zcard(keys.site("waiting")) == 1
    assert (await store.site.total(PUBLIC), await store.site.total(BOB)) == (0, 1)
    assert await store.site.recent(10, PUBLIC) == []
    assert await store.site.recent(10, BOB) == [held.id]
    await store.site.announce(replace(held, status="approved", version=2, visible=1, gained=1), NOW)
    assert await store.redis.client.zcard(keys.site("waiting")) == 0
    assert (await store.site.total(PUBLIC), await store.site.total(BOB)) == (1, 1)
    assert await store.site.recent(10, PUBLIC) == [held.id]


async def test_only_the_newest_comments_are_kept_at_hand(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_module, "RECENT", 3)
    changes = [change(n) for n in range(1, 6)]
    for each in changes:
        await store.site.announce(each, NOW)
    assert await store.site.recent(10, PUBLIC) == [each.id for each in reversed(changes[2:])]
    assert await store.site.total(PUBLIC) == 5

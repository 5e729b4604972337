from dataclasses import replace

from footfall.model import PUBLIC, Account, Viewer
from footfall.store import Store
from footfall.store import site_index as site_module
from footfall.store.comments import Change
from footfall.store.ids import IdGenerator

BOB = Viewer(Account("bob", "guest", "Bob", "bob@example.com"))

NOW = 1_700_000_000_000
_mint = IdGenerator()


def change(n: int, **fields: object) -> Change:
    """The n-th comment of page /p, approved, when that page shows n comments."""
    id = _mint.new(1_700_000_000_000 + n, "/p")
    return replace(Change(id, "approved", NOW + n, n, "", "ann", 1), **fields)  # type: ignore[arg-type]


async def recent(store: Store, viewer: Viewer) -> list[str]:
    return list((await store.recent.newest(10, viewer)).ids)


async def test_an_announcement_may_be_repeated(store: Store) -> None:
    first, second = change(1), change(2)
    for each in (first, second, second, first, second):
        await store.site.announce(each, NOW)
    assert await store.site.total(PUBLIC) == 2
    assert await recent(store, PUBLIC) == [second.id, first.id]
    assert await store.site.tallies(["ann"]) == {"ann": 2}


async def test_announcements_may_come_in_any_order(store: Store) -> None:
    for n in (3, 1, 2):
        await store.site.announce(change(n), NOW)
    assert await store.site.total(PUBLIC) == 3
    assert await store.site.tallies(["ann"]) == {"ann": 3}


async def test_a_hold_that_is_announced_before_its_comment_stays(store: Store) -> None:
    birth = change(1, is_new=True)
    held = replace(birth, is_new=False, status="spam", version=NOW + 2, visible=0, gained=-1)
    for each in (held, birth, held, birth):
        await store.site.announce(each, NOW)
        assert await recent(store, PUBLIC) == []
        assert await store.site.total(PUBLIC) == 0
        assert await store.site.tallies(["ann"]) == {"ann": 0}
    authors = store.keys.site("authors")
    assert await store.redis.client.zcard(authors) == 0


async def test_a_count_below_zero_waits_for_what_is_missing_and_is_not_shown(
    store: Store,
) -> None:
    await store.site.announce(change(2, gained=-1, status="waiting"), NOW)
    assert await store.site.tallies(["ann"]) == {"ann": 0}
    for n in (3, 4):
        await store.site.announce(change(n), NOW)
    assert await store.site.tallies(["ann"]) == {"ann": 1}


async def test_announcements_are_forgotten_after_an_hour(store: Store) -> None:
    heard = store.keys.site("applied")
    await store.site.announce(change(1), NOW)
    assert await store.redis.client.zcard(heard) == 2
    late = change(2, version=NOW + 1 + site_module.ANNOUNCED_MS)
    await store.site.announce(late, NOW + 1 + site_module.ANNOUNCED_MS)
    assert await store.redis.client.zcard(heard) == 4
    await store.site.announce(late, NOW + 2 + site_module.ANNOUNCED_MS)
    assert await store.redis.client.zcard(heard) == 2


async def test_the_sites_total_is_the_sum_of_its_pages(store: Store) -> None:
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
    assert await recent(store, PUBLIC) == []
    assert await recent(store, BOB) == [held.id]
    await store.site.announce(
        replace(held, status="approved", version=NOW + 2, visible=1, gained=1), NOW
    )
    assert await store.redis.client.zcard(keys.site("waiting")) == 0
    assert (await store.site.total(PUBLIC), await store.site.total(BOB)) == (1, 1)
    assert await recent(store, PUBLIC) == [held.id]

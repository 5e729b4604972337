"""How comments/page and comments/publish bound the size of a page."""

import pytest

from footfall.comments.store import comments as comments_module
from footfall.data.store import Store
from footfall.ids import digest
from footfall.model import PUBLIC, Comment, Order, Page, Status, StoredComment, Viewer

from .test_comments import (
    ADMIN,
    BOB,
    LIKED,
    NEWEST,
    OLDEST,
    Article,
    body_of,
    rows,
    text_of,
    threads,
)


@pytest.fixture
def article(store: Store) -> Article:
    return Article(store)


def bound(monkeypatch: pytest.MonkeyPatch, *, replies: int = 1000, bytes: int = 1 << 20) -> None:
    monkeypatch.setattr(comments_module, "MAX_REPLIES", replies)
    monkeypatch.setattr(comments_module, "MAX_PAGE_BYTES", bytes)


def bytes_of(page: Page) -> int:
    """The size of the bodies that were read."""
    return sum(len(b"\n".join(row.body)) for row in rows(page) if not row.is_cut)


def further(page: Page) -> dict[str, int]:
    """How many more replies each root has than are shown, if any."""
    return {text_of(row): row.further for row in rows(page) if row.further}


@pytest.mark.parametrize("order", [NEWEST, OLDEST, LIKED])
async def test_roots_share_the_room_for_replies_and_short_threads_are_whole(
    article: Article, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound(monkeypatch, replies=10)
    wanted = {"a": 2, "b": 20, "c": 0, "d": 9}
    for name, number in wanted.items():
        root = await article.publish(name)
        for n in range(number):
            await article.publish(f"{name}{n}", root)
    page = await article.page(order)
    assert {name: len(found) for name, found in threads(page).items()} == {
        "a": 2,
        "b": 4,
        "c": 0,
        "d": 4,
    }
    assert threads(page)["b"] == ["b0", "b1", "b2", "b3"]
    assert further(page) == {"b": 16, "d": 5}
    assert (page.count, page.roots_total) == (35, 4)


@pytest.mark.parametrize("viewer", [PUBLIC, BOB, ADMIN], ids=["public", "bob", "admin"])
@pytest.mark.parametrize("size", [1, 3, 100])
async def test_a_thread_is_read_to_its_end_by_every_viewer(
    article: Article, viewer: Viewer, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound(monkeypatch, replies=7)
    root = await article.publish("root")
    seen = []
    for n in range(20):
        status: Status = "waiting" if n % 3 == 0 else "approved"
        await article.publish(str(n), root, status=status, account="bob" if n % 2 else "")
        if status == "approved" or viewer is ADMIN or (viewer is BOB and n % 2):
            seen.append(str(n))
    await article.publish("another root's", await article.publish("another"))
    assert await article.thread(root, size=size, viewer=viewer) == seen
    page = await article.page(viewer=viewer)
    assert threads(page)["root"] == seen[:6]
    assert further(page) == {"root": len(seen) - 6}


@pytest.mark.parametrize("is_told", [True, False], ids=["told", "stored before"])
async def test_a_page_has_no_more_bytes_than_there_is_room_for(
    article: Article, monkeypatch: pytest.MonkeyPatch, *, is_told: bool
) -> None:
    bound(monkeypatch, bytes=20_000)
    big = await article.publish("big " + "x" * 1000)
    small = await article.publish("small")
    for n in range(20):
        await article.publish(f"{n} " + "x" * 1000, big)
        await article.publish(str(n), small)
    if not is_told:
        await article.store.redis.client.delete(
            article.store.keys.page(digest(article.path), "longest")
        )
    page = await article.page()
    assert bytes_of(page) <= 20_000
    first, second = threads(page).values()
    assert first == [str(n) for n in range(20)]
    assert 0 < len(second) < 20
    (left,) = further(page).values()
    assert len(second) + left == 20
    assert len(await article.thread(big, size=100)) == 20


async def test_a_root_that_is_too_long_is_replaced_by_a_stand_in(
    article: Article, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound(monkeypatch, bytes=10_000)
    roots = [await article.publish(f"{n} " + "x" * 1500) for n in range(5)]
    short = await article.publish("short")
    reply = await article.publish("reply", roots[0])
    page = await article.page()
    assert bytes_of(page) <= 10_000
    assert [row.id for row in rows(page) if not row.is_reply] == [
        short.id,
        *(each.id for each in reversed(roots)),
    ]
    # One of the long ones fits into the half that is for roots.
    assert [row.is_cut for row in rows(page) if not row.is_reply] == [
        False,
        False,
        True,
        True,
        True,
        True,
    ]
    last = rows(page)[-1]
    assert (last.id, text_of(last)) == (reply.id, "reply")
    # Alone, each of them is there.
    for place, root in enumerate(reversed(roots), 1):
        (alone, *_) = rows(await article.page(first=place, size=1))
        assert (alone.id, alone.is_cut, text_of(alone)) == (root.id, False, root.source)


async def test_a_reply_that_is_too_long_for_any_page_hides_nothing_behind_it(
    article: Article, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound(monkeypatch, bytes=4000)
    root = await article.publish("root")
    await article.publish("before", root)
    huge = await article.publish("x" * 2000, root)
    await article.publish("behind", root)
    found = rows(await article.page())
    assert [(each.is_cut, text_of(each)) for each in found] == [
        (False, "root"),
        (False, "before"),
        (True, ""),
        (False, "behind"),
    ]
    stand_in = found[2]
    assert stand_in.id == huge.id
    assert await article.thread(root, size=1) == ["before", "", "behind"]


async def test_a_thread_without_a_root_is_empty(article: Article) -> None:
    root = await article.publish("root")
    reply = await article.publish("reply", root)
    held = await article.publish("held", status="waiting")
    elsewhere = await Article(article.store, "/q").publish("elsewhere")
    for id in (reply.id, held.id, elsewhere.id, "0" * 32, "x", "-"):
        page = await article.store.comments.page(
            "/p", first=0, size=10, order=NEWEST, viewer=PUBLIC, root=id
        )
        assert (rows(page), page.roots_total, page.count) == ([], 0, 2), id


async def test_a_comment_without_a_body_is_left_out_with_its_replies(article: Article) -> None:
    """Redis loses no body, but somebody who repairs a page by hand may."""
    roots = [await article.publish(name) for name in "abc"]
    replies = [await article.publish(f"to {root.source}", root) for root in roots]
    for gone in (roots[1], replies[2]):
        key = article.store.keys.page(digest(article.path), "bodies")
        await article.store.redis.client.hdel(key, gone.id[:16])
    assert threads(await article.page(OLDEST)) == {"a": ["to a"], "c": []}


async def test_a_pinned_root_has_a_thread_too(article: Article) -> None:
    root = await article.publish("root")
    await article.publish("reply", root)
    await article.pin(root, True)
    assert await article.thread(root, size=1) == ["reply"]


async def test_a_page_knows_its_longest_body_if_it_knows_all_of_them(article: Article) -> None:
    async def longest() -> int | None:
        key = article.store.keys.page(digest(article.path), "longest")
        found = await article.store.redis.client.get(key)
        return None if found is None else int(found)

    def length(comment: Comment) -> int:
        return len(b"\n".join(StoredComment(comment.id, "/p", body_of(comment)).body))

    first = await article.publish("x" * 100)
    assert await longest() == length(first)
    await article.publish("x")
    assert await longest() == length(first)
    second = await article.publish("x" * 200)
    assert await longest() == length(second)
    await article.store.redis.client.delete(
        article.store.keys.page(digest(article.path), "longest")
    )
    await article.publish("x")
    assert await longest() is None

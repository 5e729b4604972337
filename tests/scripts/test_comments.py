"""Each script of lua/comments through its store method, on fakeredis and on real servers."""

from dataclasses import replace
from typing import Any

import pytest

from service.errors import Duplicate, NoSuchParent
from service.model import PUBLIC, Account, Comment, Order, Page, Shown, Status, Viewer
from service.store import Store
from service.store.comments import Change, Taken
from service.store.ids import Mint, born

ADMIN = Viewer(Account("root", "administrator", "Root", "root@example.com"))
BOB = Viewer(Account("bob", "guest", "Bob", "bob@example.com"))
EVE = Viewer(Account("eve", "guest", "Eve", "eve@example.com"))

NEWEST: Order = "insertedAt_desc"
OLDEST: Order = "insertedAt_asc"
LIKED: Order = "like_desc"


class Article:
    """A page to write comments on; each is a millisecond younger than the one before."""

    def __init__(self, store: Store, path: str = "/p") -> None:
        self.store = store
        self.path = path
        self._mint = Mint()
        self._now = 1_700_000_000_000

    def comment(self, text: str, parent: Comment | None = None, account: str = "") -> Comment:
        self._now += 1
        id = self._mint.new(self._now, self.path)
        return Comment(
            id=id, path=self.path, at=born(id), html=f"<p>{text}</p>\n", source=text,
            nick=None if account else "Ann", mail=None if account else "ann@example.com",
            parent=parent.id if parent else "",
            root=(parent.root or parent.id) if parent else "", account=account,
            author=account or "ann",
        )  # fmt: skip

    async def publish(
        self, text: str, parent: Comment | None = None, *, status: Status = "approved",
        account: str = "",
    ) -> Comment:  # fmt: skip
        comment = self.comment(text, parent, account)
        await self.store.comments.publish(comment, status, "")
        return comment

    async def page(
        self, order: Order = NEWEST, *, first: int = 0, size: int = 10, viewer: Viewer = PUBLIC
    ) -> Page:
        return await self.store.comments.page(
            self.path, first=first, size=size, order=order, viewer=viewer
        )

    async def texts(self, *args: Any, **kwargs: Any) -> list[str]:
        return [root.comment.source for root in (await self.page(*args, **kwargs)).roots]


@pytest.fixture
def article(store: Store) -> Article:
    return Article(store)


async def test_a_stored_comment_comes_back_whole(article: Article) -> None:
    comment = replace(await article.publish("hello"), mail=None, nick="Ann", address="", link=None)
    page = await article.page()
    assert page == Page(count=1, roots_total=1, roots=(Shown(comment),))


async def test_an_empty_page_is_empty(article: Article) -> None:
    assert await article.page() == Page()


async def test_publishing_says_how_many_comments_the_page_shows(article: Article) -> None:
    first = await article.store.comments.publish(article.comment("a"), "approved", "x")
    held = await article.store.comments.publish(article.comment("b"), "waiting", "y")
    assert (first.version, first.visible, first.gained) == (1, 1, 1)
    assert (held.version, held.visible, held.gained) == (2, 1, 0)


async def test_the_same_fingerprint_is_stored_once(article: Article) -> None:
    await article.store.comments.publish(article.comment("a"), "approved", "same")
    with pytest.raises(Duplicate):
        await article.store.comments.publish(article.comment("b"), "approved", "same")
    assert await article.texts() == ["a"]


async def test_an_id_is_stored_once(article: Article) -> None:
    comment = article.comment("a")
    await article.store.comments.publish(comment, "approved", "")
    with pytest.raises(Taken):
        await article.store.comments.publish(replace(comment, source="b"), "approved", "")
    assert await article.texts() == ["a"]


async def test_a_reply_to_a_comment_that_has_gone_is_not_stored(article: Article) -> None:
    gone = article.comment("gone")
    with pytest.raises(NoSuchParent):
        await article.publish("reply", gone)
    assert (await article.page()).count == 0


async def test_orders_and_windows(article: Article) -> None:
    comments = [await article.publish(text) for text in "abcde"]
    for comment, likes in zip(comments, (2, 0, 3, 2, 0), strict=True):
        for _ in range(likes):
            await article.store.comments.like(comment.id, 1)
    orders = {NEWEST: "edcba", OLDEST: "abcde", LIKED: "cdaeb"}
    for order, expected in orders.items():
        assert await article.texts(order) == list(expected)
        for first in range(6):
            for size in (1, 2, 5):
                window = list(expected[first : first + size])
                assert await article.texts(order, first=first, size=size) == window


async def test_replies_follow_their_root_oldest_first(article: Article) -> None:
    root = await article.publish("root")
    other = await article.publish("other")
    first = await article.publish("first", root)
    await article.publish("elsewhere", other)
    await article.publish("second", first)
    for order in (NEWEST, OLDEST, LIKED):
        page = await article.page(order)
        replies = {
            root.comment.source: [reply.comment.source for reply in root.replies]
            for root in page.roots
        }
        assert replies == {"root": ["first", "second"], "other": ["elsewhere"]}
        assert page.count == 5


async def test_likes_are_counted_on_replies_too(article: Article) -> None:
    root = await article.publish("root")
    reply = await article.publish("reply", root)
    await article.store.comments.like(reply.id, 1)
    (shown,) = (await article.page(LIKED)).roots
    assert (shown.likes, shown.replies[0].likes) == (0, 1)


async def test_a_like_never_goes_below_zero(article: Article) -> None:
    comment = await article.publish("a")
    likes = []
    for delta in (-1, 1, -1, -1, 1):
        liked = await article.store.comments.like(comment.id, delta)
        assert liked is not None
        likes.append(liked.likes)
    assert likes == [0, 1, 0, 0, 1]


async def test_a_like_of_nothing_changes_nothing(article: Article) -> None:
    assert await article.store.comments.like(article.comment("gone").id, 1) is None
    assert await article.page() == Page()


async def test_every_change_raises_the_version(article: Article) -> None:
    async def version() -> int:
        key = article.store.keys.page(comment.id[16:], "version")
        return int(await article.store.clients.reader.get(key))

    comment = await article.publish("a")
    versions = [await version()]
    await article.store.comments.like(comment.id, 1)
    versions.append(await version())
    await article.store.comments.moderate(comment, "spam")
    versions.append(await version())
    await article.store.comments.pin(comment.id, True)
    versions.append(await version())
    await article.publish("b")
    versions.append(await version())
    assert versions == [1, 2, 3, 4, 5]


async def test_held_comments_are_seen_by_their_author_and_administrators(article: Article) -> None:
    root = await article.publish("root")
    await article.publish("waiting", status="waiting")
    await article.publish("bob waits", status="waiting", account="bob")
    await article.publish("reply waits", root, status="spam")
    await article.publish("bob replies", root, status="waiting", account="bob")
    seen = {
        PUBLIC: (1, ["root"], []),
        EVE: (1, ["root"], []),
        BOB: (3, ["bob waits", "root"], ["bob replies"]),
        ADMIN: (5, ["bob waits", "waiting", "root"], ["reply waits", "bob replies"]),
    }
    for viewer, (count, roots, replies) in seen.items():
        page = await article.page(viewer=viewer)
        assert [each.comment.source for each in page.roots] == roots
        assert [each.comment.source for each in page.roots[-1].replies] == replies
        assert (page.count, page.roots_total) == (count, len(roots))


@pytest.mark.parametrize("order", [NEWEST, OLDEST, LIKED])
async def test_held_roots_stand_in_their_place_on_every_page(
    article: Article, order: Order
) -> None:
    for n in range(24):
        status: Status = "waiting" if n % 5 == 0 else "approved"
        comment = await article.publish(str(n), status=status)
        for _ in range(n * 7 % 4):
            await article.store.comments.like(comment.id, 1)
    whole = (await article.page(order, size=100, viewer=ADMIN)).roots
    keys = [(each.likes if order == LIKED else 0, each.comment.id) for each in whole]
    assert keys == sorted(keys, reverse=order != OLDEST)
    assert len(whole) == 24
    for first in range(24):
        part = (await article.page(order, first=first, size=7, viewer=ADMIN)).roots
        assert part == whole[first : first + 7]


async def test_moderation_moves_a_comment_and_its_count(article: Article) -> None:
    root = await article.publish("root")
    reply = await article.publish("reply", root)
    moderate = article.store.comments.moderate
    held = await moderate(reply, "spam")
    assert held == Change(reply.id, "spam", 3, 1, "", "ann", -1)
    assert (await article.page()).roots[0].replies == ()
    assert await moderate(reply, "waiting") == Change(reply.id, "waiting", 4, 1, "", "ann", 0)
    assert await moderate(reply, "approved") == Change(reply.id, "approved", 5, 2, "", "ann", 1)
    assert len((await article.page()).roots[0].replies) == 1
    await moderate(root, "waiting")
    # A reply whose root is hidden is counted but not shown, as in the reference.
    assert await article.page() == Page(count=1)
    assert await moderate(article.comment("gone"), "spam") is None


async def test_a_liked_comment_returns_to_its_place_when_approved(article: Article) -> None:
    first = await article.publish("first", status="waiting")
    await article.publish("second")
    await article.store.comments.like(first.id, 1)
    await article.store.comments.moderate(first, "approved")
    assert await article.texts(LIKED) == ["first", "second"]


async def test_pins_come_first_under_every_order_and_page(article: Article) -> None:
    comments = [await article.publish(text) for text in "abcde"]
    for comment in (comments[1], comments[3]):
        await article.store.comments.pin(comment.id, True)
    await article.store.comments.like(comments[1].id, 1)
    for order, expected in {NEWEST: "dbeca", OLDEST: "bdace", LIKED: "bdeca"}.items():
        for first in range(5):
            window = list(expected[first : first + 2])
            assert await article.texts(order, first=first, size=2) == window
    page = await article.page()
    assert [root.is_pinned for root in page.roots] == [True, True, False, False, False]
    assert page.roots_total == 5


async def test_a_held_pin_is_hidden_and_keeps_its_pin(article: Article) -> None:
    comment = await article.publish("pinned")
    await article.publish("other")
    await article.store.comments.pin(comment.id, True)
    await article.store.comments.moderate(comment, "spam")
    assert await article.texts() == ["other"]
    assert await article.texts(viewer=ADMIN) == ["pinned", "other"]
    await article.store.comments.moderate(comment, "approved")
    assert await article.texts() == ["pinned", "other"]
    await article.store.comments.moderate(comment, "spam")
    await article.store.comments.pin(comment.id, False)
    assert await article.texts() == ["other"]
    assert await article.texts(viewer=ADMIN) == ["other", "pinned"]


async def test_counts_of_many_pages_come_in_order(article: Article) -> None:
    other = Article(article.store, "/q")
    await article.publish("a")
    await article.publish("b", status="waiting", account="bob")
    await other.publish("c")
    paths = ["/q", "/none", "/p", "/q"]
    counts = article.store.comments.counts
    assert await counts(paths, PUBLIC) == [1, 0, 1, 1]
    assert await counts(paths, BOB) == [1, 0, 2, 1]
    assert await counts(paths, ADMIN) == [1, 0, 1, 1]


async def test_a_thread_of_three_thousand_replies_is_complete(article: Article) -> None:
    root = await article.publish("root")
    for n in range(3000):
        await article.publish(str(n), root)
    (shown,) = (await article.page()).roots
    assert [reply.comment.source for reply in shown.replies] == [str(n) for n in range(3000)]


async def test_what_only_administrators_may_see_is_stored_apart(article: Article) -> None:
    comment = replace(article.comment("a"), address="192.0.2.1", ua="UA", full_region="X Y")
    await article.store.comments.publish(comment, "approved", "")
    (shown,) = (await article.page()).roots
    assert (shown.comment.mail, shown.comment.address, shown.comment.ua) == (None, "", None)
    whole = await article.store.comments.secrets([shown])
    assert whole[comment.id] == comment


async def test_looking_before_publishing_finds_the_parent_and_the_words(article: Article) -> None:
    comment = article.comment("a")
    await article.store.comments.publish(comment, "approved", "words")
    look = article.store.comments.look
    parent, is_said = await look("/p", comment.id, "words")
    assert (parent and parent.id, is_said) == (comment.id, True)
    assert await look("/q", comment.id, "words") == (None, False)
    assert await look("/p", "", "") == (None, False)

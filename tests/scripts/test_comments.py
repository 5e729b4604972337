"""Each script of lua/comments through its store method, on fakeredis and on real servers."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import orjson
import pytest

from footfall.comments.store import codec, deletions
from footfall.comments.store.codec import fingerprint
from footfall.comments.store.comments import Preconditions
from footfall.comments.store.moderation import Actor
from footfall.comments.store.outcomes import AlreadyPublished, IdTaken
from footfall.data.store import Store
from footfall.errors import NoSuchParent
from footfall.ids import IdGenerator, created_ms, digest
from footfall.model import (
    PUBLIC,
    Account,
    Ban,
    Body,
    Comment,
    Draft,
    More,
    Order,
    Page,
    Status,
    StoredComment,
    Viewer,
)

ADMIN = Viewer(Account("root", "administrator", "Root", "root@example.com"))
BOB = Viewer(Account("bob", "guest", "Bob", "bob@example.com"))
EVE = Viewer(Account("eve", "guest", "Eve", "eve@example.com"))

MODERATOR = Actor("moderator", "root")

NEWEST: Order = "insertedAt_desc"
OLDEST: Order = "insertedAt_asc"
LIKED: Order = "like_desc"


class Article:
    """A page to write comments on; each comment is a millisecond younger than the one before."""

    def __init__(self, store: Store, path: str = "/p") -> None:
        self.store = store
        self.path = path
        self._mint = IdGenerator()
        self._now = 1_700_000_000_000

    def comment(
        self,
        text: str,
        parent: Comment | None = None,
        account: str = "",
        *,
        is_simultaneous: bool = False,
    ) -> Comment:
        """`is_simultaneous`: it is of the same millisecond as the one before."""
        self._now += not is_simultaneous
        id = self._mint.new(self._now, self.path)
        return Comment(
            id=id,
            path=self.path,
            at=created_ms(id),
            html=f"<p>{text}</p>\n",
            source=text,
            nick=None if account else "Ann",
            mail=None if account else "ann@example.com",
            parent=parent.id if parent else "",
            root=(parent.root or parent.id) if parent else "",
            account=account,
            author=account or "ann",
        )

    async def publish(
        self,
        text: str,
        parent: Comment | None = None,
        *,
        status: Status = "approved",
        account: str = "",
    ) -> Comment:
        comment = self.comment(text, parent, account)
        await self.store.comments.publish(comment, status, "")
        return comment

    async def moderate(self, comment: Comment, status: Status) -> Status | None:
        """The status before."""
        stored = await self.stored(comment)
        done = await self.store.moderation.moderate(stored, status, 0, MODERATOR)
        return done and done.was

    async def pin(self, comment: Comment, is_pinned: bool, now_ms: int = 0) -> None:
        stored = await self.stored(comment)
        await self.store.moderation.moderate(stored, None, now_ms, MODERATOR, is_pinned=is_pinned)

    async def delete(self, comment: Comment, now_ms: int = 0) -> int | None:
        return await self.store.deletions.delete(await self.stored(comment), now_ms, MODERATOR)

    async def stored(self, comment: Comment) -> StoredComment:
        """As it is now; as it was published where it is deleted or was never stored."""
        return next(iter(await self.store.comments.by_ids([comment.id])), self.shown(comment))

    def shown(self, comment: Comment) -> StoredComment:
        return StoredComment(comment.id, self.path, body_of(comment))

    async def page(
        self, order: Order = NEWEST, *, first: int = 0, size: int = 10, viewer: Viewer = PUBLIC
    ) -> Page:
        return await self.store.comments.page(
            self.path, first=first, size=size, order=order, viewer=viewer
        )

    async def thread(self, root: Comment, *, size: int, viewer: Viewer = PUBLIC) -> list[str]:
        """The texts of a root's replies, some at a time; each step checks the count of the rest."""
        texts, after, further = list[str](), "", None
        while further is None or further:
            page = await self.store.comments.page(
                self.path,
                first=0,
                size=size,
                order=NEWEST,
                viewer=viewer,
                root=root.id,
                after=after,
            )
            first, *found = rows(page)
            assert (first.id, page.roots_total) == (root.id, 1)
            assert 0 < len(found) <= size or not texts
            assert further is None or further == first.further + len(found)
            texts += (text_of(shown) for shown in found)
            further, after = first.further, found[-1].id if found else ""
        return texts

    async def texts(self, *args: Any, **kwargs: Any) -> list[str]:
        return list(threads(await self.page(*args, **kwargs)))


class Row(NamedTuple):
    """A comment of a page, with everything that its threads say of it."""

    id: str
    body: Body
    likes: int
    status: Status
    is_pinned: bool
    is_reply: bool
    is_cut: bool
    further: int


def rows(page: Page) -> list[Row]:
    found = page.threads
    places = [place for replies in found.replies for place in range(1 + replies)]
    roots = [id for id, place in zip(found.ids, places, strict=True) if not place]
    bodies = map(Body, found.persons, found.contents, found.agents, found.regions, found.tallies)
    return [
        Row(
            id.decode(),
            body,
            likes,
            status,
            id in roots[: found.pinned],
            place > 0,
            *found.more.get(id, More(False, 0)),
        )
        for id, body, likes, status, place in zip(
            found.ids, bodies, found.likes, found.statuses, places, strict=True
        )
    ]


def body_of(comment: Comment) -> Body:
    return codec.parse_body(codec.body(comment))


def text_of(shown: Row) -> str:
    text: str = orjson.loads(b"{" + shown.body.content + b"}")["orig"]
    return text


def threads(page: Page) -> dict[str, list[str]]:
    """The texts of a page: each root's replies, roots in their order."""
    found: dict[str, list[str]] = {}
    for shown in rows(page):
        text = text_of(shown)
        if shown.is_reply:
            found[list(found)[-1]].append(text)
        else:
            found[text] = []
    return found


@pytest.fixture
def article(store: Store) -> Article:
    return Article(store)


async def thread_of(article: Article) -> tuple[Comment, Comment]:
    """A root and a reply to it."""
    root = await article.publish("root")
    return root, await article.publish("reply", root)


async def refused(article: Article, late: Comment, why: type[Exception]) -> None:
    before = await article.page(viewer=ADMIN)
    with pytest.raises(why):
        await article.store.comments.publish(late, "approved", "")
    assert await article.page(viewer=ADMIN) == before


async def test_a_stored_comment_comes_back_whole(article: Article) -> None:
    comment = await article.publish("hello")
    page = await article.page()
    assert page == Page(comment.at, 1, 1, page.threads)
    assert rows(page) == [Row(comment.id, body_of(comment), 0, "approved", False, False, False, 0)]


async def test_an_empty_page_is_empty(article: Article) -> None:
    assert await article.page() == Page()


async def test_the_same_fingerprint_is_stored_once(article: Article) -> None:
    first = article.comment("a")
    await article.store.comments.publish(first, "approved", "same")
    with pytest.raises(AlreadyPublished) as said:
        await article.store.comments.publish(article.comment("b"), "approved", "same")
    assert said.value.id == first.id
    assert await article.texts() == ["a"]


async def test_an_id_is_stored_once(article: Article) -> None:
    comment = article.comment("a")
    await article.store.comments.publish(comment, "approved", "")
    with pytest.raises(IdTaken):
        await article.store.comments.publish(replace(comment, source="b"), "approved", "")
    assert await article.texts() == ["a"]


async def test_a_reply_to_what_never_was_is_not_stored(article: Article) -> None:
    gone = article.comment("gone")
    with pytest.raises(NoSuchParent):
        await article.publish("reply", gone)
    assert (await article.page()).count == 0


async def test_a_reply_to_a_deleted_comment_is_not_stored(article: Article) -> None:
    root, reply = await thread_of(article)
    to_reply = article.comment("to reply", reply)
    await article.delete(reply)
    await refused(article, to_reply, NoSuchParent)
    to_root, to_reply = article.comment("to root", root), article.comment("to reply", reply)
    await article.delete(root)
    for late in (to_root, to_reply):
        await refused(article, late, NoSuchParent)
    assert (await article.page(viewer=ADMIN)).count == 0


async def test_a_reply_needs_its_root_even_if_what_it_replies_to_is_there_still(
    article: Article, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The reply leaves the indexes in a later step.
    monkeypatch.setattr(deletions, "STEP_REPLIES", 0)
    root, reply = await thread_of(article)
    await article.delete(root)
    await refused(article, article.comment("late", reply), NoSuchParent)


async def test_a_reply_below_what_is_no_root_is_not_stored(article: Article) -> None:
    # A file may claim this if it was changed since its import.
    _, reply = await thread_of(article)
    late = replace(article.comment("late", reply), root=reply.id)
    with pytest.raises(NoSuchParent):
        await article.store.comments.publish(late, "approved", "", by="import")
    await refused(article, late, NoSuchParent)


async def test_an_imported_reply_needs_its_root_only(article: Article) -> None:
    root = await article.publish("root")
    never = article.comment("never", root)
    reply = article.comment("reply", never)
    await article.store.comments.publish(reply, "spam", "", by="import", likes=3, is_pinned=True)
    shown = rows(await article.page(viewer=ADMIN))[1]
    # Only roots are pinned.
    assert (shown.likes, shown.status, shown.is_pinned) == (3, "spam", False)
    await article.delete(root)
    late = article.comment("late", root)
    with pytest.raises(NoSuchParent):
        await article.store.comments.publish(late, "spam", "", by="import")


async def test_an_imported_root_brings_its_likes_and_its_pin(article: Article) -> None:
    await article.publish("other")
    root = article.comment("root")
    await article.store.comments.publish(root, "approved", "", by="import", likes=3, is_pinned=True)
    await article.publish("newest")
    (first, *_) = rows(await article.page())
    assert (first.id, first.likes, first.is_pinned) == (root.id, 3, True)


async def test_the_words_of_a_deleted_comment_may_be_said_again(article: Article) -> None:
    for _ in range(2):
        said = article.comment("hello")
        await article.store.comments.publish(said, "approved", fingerprint(said))
        await article.delete(said)
    assert (await article.store.comments.before(draft_of(said))).root is None


def draft_of(comment: Comment, parent: str = "", path: str = "/p") -> Draft:
    """What its author sends again."""
    author = comment.nick, comment.mail, comment.link
    return Draft(comment.source, path, *author, parent=parent)


async def test_the_words_of_what_comes_back_are_said_by_the_later_one(article: Article) -> None:
    first, second = article.comment("hello"), article.comment("hello")
    await article.store.comments.publish(first, "approved", "same")
    await article.delete(first)
    await article.store.comments.publish(second, "approved", "same")
    await article.store.deletions.restore(first.id, 0, MODERATOR)
    assert [row.id for row in rows(await article.page())] == [second.id, first.id]
    with pytest.raises(AlreadyPublished) as said:
        await article.store.comments.publish(article.comment("hello"), "approved", "same")
    assert said.value.id == second.id


async def test_the_id_of_a_deleted_comment_stays_taken(article: Article) -> None:
    comment = await article.publish("a")
    await article.delete(comment)
    with pytest.raises(IdTaken):
        await article.store.comments.publish(replace(comment, source="b"), "approved", "")


async def test_each_order_has_its_pages(article: Article) -> None:
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
        assert threads(page) == {"root": ["first", "second"], "other": ["elsewhere"]}
        assert page.count == 5


async def test_likes_are_counted_on_replies_too(article: Article) -> None:
    root = await article.publish("root")
    reply = await article.publish("reply", root)
    await article.store.comments.like(reply.id, 1)
    assert [shown.likes for shown in rows(await article.page(LIKED))] == [0, 1]


async def test_a_like_never_goes_below_zero(article: Article) -> None:
    comment = await article.publish("a")
    likes = []
    for delta in (-1, 1, -1, -1, 1):
        liked = await article.store.comments.like(comment.id, delta)
        assert liked is not None
        likes.append(liked.likes)
    assert likes == [0, 1, 0, 0, 1]


async def test_a_like_of_no_comment_changes_nothing(article: Article) -> None:
    assert await article.store.comments.like(article.comment("gone").id, 1) is None
    assert await article.page() == Page()


async def test_every_change_raises_the_version(article: Article) -> None:
    async def version() -> int:
        key = article.store.keys.page(comment.id[16:], "version")
        return int(await article.store.redis.client.get(key))

    comment = await article.publish("a")
    versions = [await version()]
    await article.store.comments.like(comment.id, 1)
    versions.append(await version())
    await article.moderate(comment, "spam")
    versions.append(await version())
    await article.pin(comment, True)
    versions.append(await version())
    await article.publish("b")
    versions.append(await version())
    assert versions == sorted(set(versions))


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
        assert list(threads(page)) == roots
        assert threads(page)["root"] == replies
        assert (page.count, page.roots_total) == (count, len(roots))


@pytest.mark.parametrize("order", [NEWEST, OLDEST, LIKED])
async def test_held_roots_are_in_their_place_on_every_page(article: Article, order: Order) -> None:
    for n in range(24):
        status: Status = "waiting" if n % 5 == 0 else "approved"
        comment = await article.publish(str(n), status=status)
        for _ in range(n * 7 % 4):
            await article.store.comments.like(comment.id, 1)
    whole = rows(await article.page(order, size=100, viewer=ADMIN))
    keys = [(each.likes if order == LIKED else 0, each.id) for each in whole]
    assert keys == sorted(keys, reverse=order != OLDEST)
    assert len(whole) == 24
    for first in range(24):
        part = rows(await article.page(order, first=first, size=7, viewer=ADMIN))
        assert part == whole[first : first + 7]


async def test_moderation_moves_a_comment_and_its_count(article: Article) -> None:
    root = await article.publish("root")
    reply = await article.publish("reply", root)
    assert await article.moderate(reply, "spam") == "approved"
    assert threads(await article.page()) == {"root": []}
    assert await article.moderate(reply, "waiting") == "spam"
    assert await article.moderate(reply, "approved") == "waiting"
    assert threads(await article.page()) == {"root": ["reply"]}
    await article.moderate(root, "waiting")
    # A reply whose root is held is counted but not shown, as in Waline.
    assert await article.page() == Page(version=reply.at + 4, count=1)
    assert await article.moderate(article.comment("gone"), "spam") is None


async def test_a_liked_comment_returns_to_its_place_when_approved(article: Article) -> None:
    first = await article.publish("first", status="waiting")
    await article.publish("second")
    await article.store.comments.like(first.id, 1, viewer=ADMIN)
    await article.moderate(first, "approved")
    assert await article.texts(LIKED) == ["first", "second"]


async def test_pins_come_first_under_every_order_and_page(article: Article) -> None:
    comments = [await article.publish(text) for text in "abcde"]
    for comment in (comments[1], comments[3]):
        await article.pin(comment, True)
    await article.store.comments.like(comments[1].id, 1)
    for order, expected in {NEWEST: "dbeca", OLDEST: "bdace", LIKED: "bdeca"}.items():
        for first in range(5):
            window = list(expected[first : first + 2])
            assert await article.texts(order, first=first, size=2) == window
    page = await article.page()
    assert [root.is_pinned for root in rows(page)] == [True, True, False, False, False]
    assert page.roots_total == 5


async def test_a_held_pin_is_hidden_and_keeps_its_pin(article: Article) -> None:
    comment = await article.publish("pinned")
    await article.publish("other")
    await article.pin(comment, True)
    await article.moderate(comment, "spam")
    assert await article.texts() == ["other"]
    assert await article.texts(viewer=ADMIN) == ["pinned", "other"]
    await article.moderate(comment, "approved")
    assert await article.texts() == ["pinned", "other"]
    await article.moderate(comment, "spam")
    await article.pin(comment, False)
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


@pytest.mark.rare
async def test_a_thread_of_three_thousand_replies_is_read_to_its_end(article: Article) -> None:
    root = await article.publish("root")
    other = await article.publish("other")
    for n in range(3000):
        await article.publish(str(n), root)
    await article.publish("last", other)
    page = await article.page()
    assert threads(page) == {"other": ["last"], "root": [str(n) for n in range(999)]}
    assert [shown.further for shown in rows(page) if not shown.is_reply] == [0, 2001]
    assert page.count == 3003
    assert await article.thread(root, size=1000) == [str(n) for n in range(3000)]


async def test_fields_for_administrators_are_stored_apart(article: Article) -> None:
    comment = replace(article.comment("a"), address="192.0.2.1", ua="UA", full_region="X Y")
    await article.store.comments.publish(comment, "approved", "")
    (shown,) = rows(await article.page())
    assert not any(
        secret in b"\n".join(shown.body) for secret in (b"@", b"192.0.2.1", b"UA", b"X Y")
    )
    secrets = await article.store.comments.secrets([shown.id])
    assert orjson.loads(secrets[comment.id]) == {
        "mail": "ann@example.com",
        "ip": "192.0.2.1",
        "ua": "UA",
        "addr": "X Y",
    }


async def test_the_check_before_publishing_finds_the_parent_and_the_fingerprint(
    article: Article,
) -> None:
    comment = article.comment("a")
    await article.store.comments.publish(comment, "approved", fingerprint(comment))
    look = article.store.comments.before
    with pytest.raises(AlreadyPublished) as said:
        await look(draft_of(comment, comment.id))
    assert said.value.id == comment.id
    assert (await look(draft_of(comment), has_twins=True)).fingerprint == ""
    reply = await article.publish("reply", comment)
    other = article.comment("other words")
    assert (await look(draft_of(other, comment.id))).root == comment.id
    assert (await look(draft_of(other, reply.id))).root == comment.id
    elsewhere = await look(draft_of(comment, comment.id, "/q"))
    assert elsewhere == Preconditions(None, 0, 0, fingerprint=fingerprint(comment))
    assert (await look(draft_of(other))).root is None


async def test_the_check_before_publishing_also_finds_bans_and_the_authors_count(
    article: Article,
) -> None:
    store = article.store
    told = await article.publish("a", account="bob")
    await store.bans.change("eve", None, Ban("eve"), 7)
    draft, first_ms = Draft("words", "/p"), created_ms(told.id)
    read = partial(store.comments.before, draft, "bob", has_twins=True)
    assert await read(asks_for_trust=True) == Preconditions(None, 7, 1, None, first_ms)
    assert await read() == Preconditions(None, 7, 0, None, first_ms)


async def test_a_held_comment_is_liked_only_by_those_who_may_see_it(article: Article) -> None:
    held = await article.publish("held", status="waiting", account="bob")
    for viewer, is_seen in ((PUBLIC, False), (EVE, False), (BOB, True), (ADMIN, True)):
        liked = await article.store.comments.like(held.id, 1, viewer=viewer)
        assert (liked is not None) == is_seen
    (shown,) = rows(await article.page(viewer=ADMIN))
    assert (shown.likes, shown.status) == (2, "waiting")


async def test_a_change_that_is_refused_raises_no_version(article: Article) -> None:
    held = await article.publish("held", status="spam")
    root = await article.publish("root")
    before = await article.store.comments.version("/p")
    for id, delta in ((held.id, 1), (held.id, -1), (root.id, -1)):
        await article.store.comments.like(id, delta, root.at + 1000)
    assert await article.store.comments.version("/p") == before


async def test_no_version_comes_twice_even_after_changes_were_lost(article: Article) -> None:
    first = await article.publish("a")
    key = article.store.keys.page(digest(first.path), "version")
    kept = await article.store.redis.client.get(key)
    seen = [await article.store.comments.version(first.path)]
    now = first.at
    changes: list[Callable[[], Awaitable[object]]] = [
        lambda: article.publish("b"),
        lambda: article.store.comments.like(first.id, 1, now + 1000),
        lambda: article.pin(first, True, now + 2000),
    ]
    for change in changes:
        # A server that was killed has lost what it had not written.
        await article.store.redis.client.set(key, kept)
        await change()
        seen.append(await article.store.comments.version(first.path))
    assert len(set(seen)) == len(seen)

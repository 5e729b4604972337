"""Each script of lua/journal, and how the site follows what pages' scripts have written down."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from footfall.comments.store import codec, deletions
from footfall.comments.store.journal import ABANDONED_MS, LEFT_MS, SITE_KEYS, STEP_ENTRIES, now_ms
from footfall.comments.store.projections import UNDO_MS, Applying, CommentChange, JournalEntry
from footfall.data.store import Store
from footfall.errors import StoreUnavailable
from footfall.ids import SHORT, created_ms, digest
from footfall.model import PUBLIC, Account, Comment, Viewer
from tests.support.losing import catch_up, lost_replies

from .test_comments import MODERATOR, Article
from .test_moderation import whole

BOB = Viewer(Account("bob", "guest", "Bob", "bob@example.com"))
PAGE = digest("/p")
NOW = 1_700_000_100_000


@pytest.fixture
def article(store: Store) -> Article:
    return Article(store)


async def journal(store: Store) -> list[JournalEntry]:
    """What the page's journal has."""
    await store.background.finished()
    (reply,) = await store.redis.ask(("XRANGE", store.keys.page(PAGE, "journal"), "-", "+"))
    return [JournalEntry.parse(*each) for each in reply]


async def left(article: Article, patch: pytest.MonkeyPatch, work: Any) -> list[JournalEntry]:
    """What a change leaves in the journal whose service ends before the site has followed it."""
    await article.store.background.finished()
    with lost_replies(patch, "journal/apply", "journal/cut", is_done=False):
        await work
        return await journal(article.store)


async def apply(
    store: Store, entries: Sequence[JournalEntry], *, change: str = "", tells: bool = False
) -> int:
    """How many tasks came into the outbox."""
    applying = Applying(store.keys, PAGE, entries, tells=tells)
    _, _, told = await store.scripts["journal/apply"](
        **{name: store.keys.site(name) for name in SITE_KEYS},
        lists=applying.lists,
        page=PAGE,
        change=change,
        entries=applying.words,
    )
    return int(told)


async def site(store: Store) -> dict[str, Any]:
    """What the site knows of comments."""
    client, found = store.redis.client, dict[str, Any]()
    names = ("recent", "waiting", "spam", "authors", "removals", "own:bob", "by:bob", "by:ann")
    for name in names:
        members = await client.zrange(store.keys.site(name), 0, -1, withscores=True)
        found[name] = {member.decode(): int(score) for member, score in members}
    totals = (await client.hscan(store.keys.site("totals")))[1]
    found["totals"] = {page.decode(): words.decode() for page, words in totals.items()}
    found["total"] = await store.site.total(PUBLIC)
    return {name: value for name, value in found.items() if value}


def published(id: str, at: int, **fields: Any) -> JournalEntry:
    """Of a comment by ann that is the page's only one."""
    change = CommentChange(id[:SHORT], "", "approved", "", False, False, "", "", "ann", "ann")
    return replace(JournalEntry(at, "publish", "author", "", 1, (), [change]), **fields)


# What pages write down.


async def test_what_happens_is_in_the_pages_journal_until_the_site_has_followed_it(
    article: Article, monkeypatch: pytest.MonkeyPatch
) -> None:
    comment = article.comment("a", account="bob")
    publishing = article.store.comments.publish(comment, "waiting", "")
    (entry,) = await left(article, monkeypatch, publishing)
    assert entry == JournalEntry(
        comment.at,
        "publish",
        "author",
        "",
        0,
        (),
        [
            CommentChange(
                comment.id[:SHORT], "", "waiting", "", False, False, "bob", "bob", "bob", "bob"
            )
        ],
    )
    assert await site(article.store) == {}
    await catch_up(article.store.journal, monkeypatch)
    assert await journal(article.store) == []
    assert await site(article.store) == {
        "waiting": {comment.id: comment.at},
        "own:bob": {comment.id: 0},
        "totals": {PAGE: f"{comment.at} 0"},
    }


async def test_an_entry_says_who_did_what_and_how_it_was_before(
    article: Article, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = await article.publish("root")
    before = await whole(article.store, root)
    after = replace(codec.comment(before), source="other words", author="eve")

    async def everything() -> None:
        moderate = article.store.moderation.moderate
        await moderate(before, "spam", NOW, MODERATOR, is_pinned=True, after=after)
        await article.moderate(root, "approved")
        await article.delete(root, NOW)
        await article.store.deletions.restore(root.id, NOW, MODERATOR)

    found = await left(article, monkeypatch, everything())
    id = root.id[:SHORT]
    assert found == [
        JournalEntry(
            NOW,
            "edit",
            "moderator",
            "root",
            0,
            ("4", "11"),
            [CommentChange(id, "approved", "spam", "", False, True, "", "", "ann", "eve")],
        ),
        JournalEntry(
            NOW + 1,
            "moderate",
            "moderator",
            "root",
            1,
            (),
            [CommentChange(id, "spam", "approved", "1", True, True, "", "", "eve", "eve")],
        ),
        JournalEntry(
            NOW + 2,
            "delete",
            "moderator",
            "root",
            0,
            (),
            [CommentChange(id, "approved", "deleted", "", True, True, "", "", "eve", "eve")],
        ),
        JournalEntry(
            NOW + 3,
            "restore",
            "moderator",
            "root",
            1,
            (),
            [CommentChange(id, "deleted", "approved", "", True, True, "", "", "eve", "eve")],
        ),
    ]


async def test_what_is_refused_is_not_written_down(
    article: Article, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = article.comment("a")
    await article.store.comments.publish(first, "approved", "same")

    async def refused() -> None:
        with pytest.raises(Exception, match=first.id):
            await article.store.comments.publish(article.comment("a"), "approved", "same")
        await article.moderate(article.comment("never"), "spam")
        await article.moderate(first, "approved")
        await article.store.deletions.restore(first.id, NOW, MODERATOR)
        await article.store.comments.like(first.id, 1)

    assert await left(article, monkeypatch, refused()) == []


# What the site follows.


async def test_an_entry_has_its_effect_once(store: Store) -> None:
    id = f"{1:016d}{PAGE}"
    entry = replace(published(id, NOW), by="moderator", actor="root")
    for n in range(3):
        assert await apply(store, [entry] * 2, tells=True) == (n == 0)
    assert await site(store) == {
        "recent": {id: created_ms(id)},
        "authors": {"ann": 1},
        "by:ann": {id: 0},
        "totals": {PAGE: f"{NOW} 1"},
        "total": 1,
    }
    assert len(await store.log.newest(10)) == 1


async def test_an_entry_behind_one_that_was_followed_changes_nothing(store: Store) -> None:
    id = f"{1:016d}{PAGE}"
    born = published(id, NOW)
    held = CommentChange(id[:SHORT], "approved", "spam", "", False, False, "", "", "ann", "ann")
    history = [born, JournalEntry(NOW + 1, "moderate", "judge", "", 0, (), [held])]
    await apply(store, history)
    after = await site(store)
    assert "recent" not in after
    for late in ([born], history, [history[1]]):
        await apply(store, late)
        assert await site(store) == after


async def test_entries_come_in_any_parts(store: Store) -> None:
    ids = [f"{n:016d}{PAGE}" for n in range(6)]
    history = [published(id, NOW + n, visible=n + 1) for n, id in enumerate(ids)]
    for first, behind in ((0, 2), (0, 4), (1, 3), (3, 6), (0, 6)):
        await apply(store, history[first:behind])
        done = max(behind, 4) if first else behind
        assert await store.site.total(PUBLIC) == done
    assert (await site(store))["authors"] == {"ann": 6}


async def test_a_change_is_over_when_the_site_has_followed_it(store: Store) -> None:
    changing = store.keys.site("changing")
    for change in ("a", "b"):
        await store.redis.change(("ZADD", changing, NOW, change))
    await apply(store, [published("0" * 32, NOW)], change="a")
    await apply(store, [published("0" * 32, NOW)], change="c")
    assert await store.redis.client.zrange(changing, 0, -1) == [b"b"]


@pytest.mark.parametrize(
    "words",
    [
        ("", ""),
        ("did", "publish"),
        ("x", "y"),
        (
            "did",
            "moderate",
            "by",
            "moderator",
            "actor",
            "root",
            "visible",
            "many",
            "lengths",
            "",
            "comments",
            "",
        ),
        (
            "did",
            "moderate",
            "by",
            "moderator",
            "actor",
            "root",
            "visible",
            "1",
            "lengths",
            "",
            "comments",
            "only three words",
        ),
        (
            "did",
            "moderate",
            "by",
            b"\xff",
            "actor",
            "root",
            "visible",
            "1",
            "lengths",
            "",
            "comments",
            "",
        ),
    ],
)
async def test_what_no_script_has_written_is_passed_over(
    article: Article, words: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = article.store
    first = await article.publish("a")
    await store.background.finished()
    key = store.keys.page(PAGE, "journal")
    await store.redis.change(("XADD", key, f"{first.at + 1}-0", *words))
    before = await site(store)
    await store.journal.follow(PAGE)
    assert await site(store) == before | {"totals": {PAGE: f"{first.at + 1} 1"}}
    second = await article.publish("b")
    assert await store.site.total(PUBLIC) == 2
    assert await journal(store) == []
    assert second.id in (await site(store))["recent"]


async def test_the_sites_total_is_the_sum_of_its_pages(article: Article) -> None:
    other = Article(article.store, "/q")
    first = await article.publish("a")
    await other.publish("b")
    await other.publish("c", status="spam")
    await article.publish("d", first)
    assert await article.store.site.total(PUBLIC) == 3
    await article.delete(first, NOW)
    assert await article.store.site.total(PUBLIC) == 1


async def test_a_held_comment_is_in_the_queue_and_in_its_authors_list_only(
    article: Article,
) -> None:
    store = article.store
    held = await article.publish("a", status="waiting", account="bob")
    assert await store.site.held() == (1, 0)
    assert (await store.site.total(PUBLIC), await store.site.total(BOB)) == (0, 1)
    await article.moderate(held, "approved")
    assert await store.site.held() == (0, 0)
    assert (await store.site.total(PUBLIC), await store.site.total(BOB)) == (1, 1)
    assert await store.site.tallies(["bob"]) == {"bob": 1}


async def test_a_comment_that_gets_another_author_is_in_that_ones_lists(article: Article) -> None:
    store = article.store
    comment = await article.publish("a", account="bob")
    other = await article.publish("b", account="bob")
    for author, account in (("ann", ""), ("", ""), ("bob", "bob")):
        before = await whole(store, comment)
        after = replace(codec.comment(before), author=author, account=account)
        await store.moderation.moderate(before, None, NOW, MODERATOR, after=after)
        theirs = {name: number for name, number in (("bob", 1), (author, 1)) if name}
        theirs["bob"] += author == "bob"
        assert (await site(store))["authors"] == theirs
        assert (await store.site.ranking(10))[0] == ("bob", theirs["bob"], other.id)


async def test_a_deleted_thread_leaves_the_sites_lists_and_comes_back_into_them(
    article: Article, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletions, "STEP_REPLIES", 1)
    store = article.store
    root = await article.publish("root", account="bob")
    replies = [await article.publish(str(n), root) for n in range(3)]
    await article.publish("held", replies[0], status="spam", account="bob")
    before = await site(store)
    await article.delete(root, NOW)
    # The site's total and the root's place change at once, the replies' places follow.
    assert await store.site.total(PUBLIC) == 0
    assert root.id not in (await site(store))["recent"]
    for n in range(2):
        await store.deletions.sweep_due(NOW + 10 + n)
    after = await site(store)
    assert {*after} == {"totals", "removals"}
    assert after["removals"] == {PAGE: NOW + UNDO_MS}
    await store.deletions.restore(root.id, NOW, MODERATOR)
    # What is to come back does not wait until it could have been removed.
    await store.deletions.sweep_due(NOW + 20)
    await store.deletions.sweep_due(NOW + 20)
    assert {**await site(store), "totals": 0} == {**before, "totals": 0}


# Journals that are long.


async def test_a_long_journal_is_followed_from_its_beginning_to_its_end(
    article: Article, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = article.store

    async def many() -> None:
        for n in range(5 * STEP_ENTRIES):
            await article.publish(str(n))

    # More than a script returns at once: then the change itself looks for all.
    with lost_replies(monkeypatch, "journal/apply", is_done=False):
        await many()
        assert len(await journal(store)) == 5 * STEP_ENTRIES
    await article.publish("last")
    assert await journal(store) == []
    assert await store.site.total(PUBLIC) == 5 * STEP_ENTRIES + 1
    assert await store.redis.client.zcard(store.keys.site("changing")) == 5 * STEP_ENTRIES
    await catch_up(store.journal, monkeypatch)
    assert await store.journal.follow(PAGE) is False


async def test_only_what_was_followed_is_cut_off(
    article: Article, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, cut = article.store, article.store.scripts["journal/cut"]

    async def two() -> None:
        for text in "ab":
            await article.publish(text)

    first, second = await left(article, monkeypatch, two())
    key = store.keys.page(PAGE, "journal")
    assert await cut(journal=key, applied=first.version - 1) == [b"OK", 2]
    for _ in range(2):
        assert await cut(journal=key, applied=first.version) == [b"OK", 1]
    assert await journal(store) == [second]
    assert await cut(journal=key, applied=second.version) == [b"OK", 0]
    assert [page async for page in store.journal.pages()] == []
    assert await cut(journal=key, applied=second.version) == [b"OK", 0]


@pytest.mark.parametrize("is_done", [True, False])
@pytest.mark.parametrize("script", ["journal/apply", "journal/cut", "comments/publish"])
async def test_a_lost_reply_loses_nothing_and_counts_nothing_twice(
    article: Article, script: str, monkeypatch: pytest.MonkeyPatch, *, is_done: bool
) -> None:
    store = article.store
    first = article.comment("a")
    with lost_replies(monkeypatch, script, is_done=is_done):
        try:
            await store.comments.publish(first, "approved", "")
        except StoreUnavailable:
            assert script == "comments/publish"
        await store.background.finished()
    is_there = is_done or script != "comments/publish"
    await catch_up(store.journal, monkeypatch)
    assert await store.site.total(PUBLIC) == is_there
    second = await article.publish("b")
    assert await store.site.total(PUBLIC) == is_there + 1
    assert await journal(store) == []
    assert [*(await site(store))["recent"]] == [first.id, second.id][not is_there :]


async def test_a_change_that_was_not_made_is_looked_for_for_a_minute(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    changing, now = store.keys.site("changing"), now_ms()
    for age in (0, LEFT_MS + 1000, ABANDONED_MS + 1000):
        await store.redis.change(("ZADD", changing, now - age, f"{PAGE} {age}"))
    await store.journal.catch_up()
    assert await store.redis.client.zrange(changing, 0, -1) == [
        f"{PAGE} {LEFT_MS + 1000}".encode(),
        f"{PAGE} 0".encode(),
    ]


async def test_pages_with_journals_are_found_without_any_note(
    article: Article, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = article.store
    await left(article, monkeypatch, article.publish("a"))
    await store.redis.change(("DEL", store.keys.site("changing")))
    assert [page async for page in store.journal.pages()] == [PAGE]
    assert await store.journal.follow(PAGE)
    assert await store.site.total(PUBLIC) == 1
    assert [page async for page in store.journal.pages()] == []


# How comments are, once more.


async def test_what_is_wrong_in_the_sites_lists_is_put_right_by_stating_it_again(
    article: Article,
) -> None:
    store = article.store
    root = await article.publish("root", account="bob")
    held = await article.publish("held", root, status="waiting", account="bob")
    gone, never = await article.publish("gone"), article.comment("never", account="bob")
    await article.delete(gone, NOW)
    await store.background.finished()
    before = await site(store)
    await spoil(store, root, held, gone, never)
    everyone = [
        (each.id[:SHORT], "bob", author)
        for each in (root, held, gone, never)
        for author in ("bob", "ann")
    ]
    await store.journal.restate(PAGE, everyone)
    after = await site(store)
    assert {**after, "totals": 0} == {**before, "totals": 0}
    assert len(await store.log.newest(10)) == 1


async def spoil(store: Store, root: Comment, held: Comment, *gone: Comment) -> None:
    site = store.keys.site
    await store.redis.change(
        ("DEL", site("recent")),
        ("DEL", site("own:bob")),
        ("ZREM", site("by:bob"), root.id),
        ("ZADD", site("spam"), 1, held.id),
        ("ZADD", site("by:ann"), 0, held.id),
        ("DEL", site("authors")),
        ("SET", site("total"), 1),
        *(("ZADD", site(name), 1, each.id) for each in gone for name in ("recent", "own:bob")),
    )


# When a page is swept again.


async def test_a_page_is_swept_again_when_its_next_removals_are_due(article: Article) -> None:
    store, removals = article.store, article.store.keys.site("removals")
    first, second = await article.publish("a"), await article.publish("b")
    await article.delete(first, NOW)
    await article.delete(second, NOW + 5)
    for now, due in ((NOW + 5, NOW + UNDO_MS), (NOW + UNDO_MS, NOW + 5 + UNDO_MS)):
        await store.deletions.sweep_due(now)
        ((_, at),) = await store.redis.client.zrange(removals, 0, -1, withscores=True)
        assert at == due
    await store.deletions.sweep_due(NOW + 5 + UNDO_MS)
    assert await store.redis.client.zcard(removals) == 0
    (bodies,) = await store.redis.ask(("HLEN", store.keys.page(PAGE, "bodies")))
    assert bodies == 0


async def test_a_page_whose_version_is_ahead_of_the_clock_is_swept_at_once(
    article: Article, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletions, "STEP_REPLIES", 0)
    store, root = article.store, await article.publish("root")
    reply = await article.publish("reply", root)
    await store.comments.touch(PAGE, NOW + 1_000_000)
    await article.delete(root, NOW)
    monkeypatch.undo()
    assert [*(await site(store))["recent"]] == [reply.id]
    await store.deletions.sweep_due(NOW)
    assert "recent" not in await site(store)


async def test_a_deletion_during_a_sweep_is_not_forgotten(article: Article) -> None:
    store, site = article.store, article.store.keys.site
    swept, keys = store.scripts["journal/swept"], {"totals": site("totals")}
    keys["removals"] = site("removals")
    first = await article.publish("a")
    (known,) = await store.redis.ask(("HGET", site("totals"), PAGE))
    await article.delete(first, NOW)
    for due in (0, NOW + 100):
        assert await swept(**keys, page=PAGE, known=known, due=due) == [b"OVERTAKEN"]
    assert (await store.redis.client.zrange(site("removals"), 0, -1)) == [PAGE.encode()]
    (known,) = await store.redis.ask(("HGET", site("totals"), PAGE))
    assert await swept(**keys, page=PAGE, known=known, due=0) == [b"OK"]
    assert await store.redis.client.zcard(site("removals")) == 0


async def test_a_sweep_that_fails_is_taken_up_again(
    article: Article, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = article.store
    await article.delete(await article.publish("a"), NOW)
    lost = lost_replies(monkeypatch, "comments/remove", is_done=False)
    with lost, pytest.raises(StoreUnavailable):
        await store.deletions.sweep_due(NOW + UNDO_MS)
    # Others leave the page to its current worker for a while.
    await store.deletions.sweep_due(NOW + UNDO_MS)
    (bodies,) = await store.redis.ask(("HLEN", store.keys.page(PAGE, "bodies")))
    assert bodies == 1
    await store.deletions.sweep_due(NOW + UNDO_MS + deletions.LEASE_MS)
    (bodies,) = await store.redis.ask(("HLEN", store.keys.page(PAGE, "bodies")))
    assert bodies == 0

"""comments/delete, comments/restore and comments/remove, on every kind of server."""

from typing import Any

import pytest

from footfall.comments.store import codec, deleted, deletions
from footfall.comments.store.deletions import CHANGED
from footfall.comments.store.indexes import DELETED, HASHES, INDEXES
from footfall.comments.store.projections import UNDO_MS
from footfall.data.store import Store
from footfall.ids import SHORT, digest
from footfall.model import PUBLIC, Comment, Viewer

from .test_comments import ADMIN, BOB, MODERATOR, Article, rows, threads

PAGE = digest("/p")
NOW = 1_700_000_100_000
LATER = NOW + UNDO_MS


@pytest.fixture
def article(store: Store) -> Article:
    return Article(store)


async def state(store: Store) -> dict[str, dict[str, Any]]:
    """All that a page stores of its comments, in keys that are not empty; but for who decided."""
    found, client = dict[str, dict[bytes, Any]](), store.redis.client
    for name in sorted({*HASHES} - {"decided"}):
        found[name] = (await client.hscan(store.keys.page(PAGE, name), count=10_000))[1]
    for name in (*INDEXES, *DELETED):
        key = store.keys.page(PAGE, name)
        found[name] = dict(await client.zrange(key, 0, -1, withscores=True))
    return {
        name: {key.decode(): value for key, value in entries.items()}
        for name, entries in found.items()
        if entries
    }


async def step(
    article: Article, script: str, comment: Comment, *, begins: bool = False, most: int = 1
) -> int | None:
    """Take one step of a deletion, or of an undo; how many replies are left, None for a refusal."""
    store = article.store
    more: dict[str, Any] = {}
    if script == "restore":
        more = {"at": comment.at, "likes": store.keys.page(PAGE, "likes")}
    outcome, *numbers = await store.journal.change(
        store.scripts[f"comments/{script}"],
        PAGE,
        **{name: store.keys.page(PAGE, name) for name in CHANGED},
        **more,
        id=comment.id[:SHORT],
        root=comment.root[:SHORT],
        parent=comment.parent[:SHORT],
        begins=begins,
        now=NOW,
        most=most,
        bytes=1 << 18,
        only="",
        seen="",
        by="moderator",
        actor="root",
    )
    return int(numbers[1]) if outcome == b"OK" else None


async def finish(article: Article, script: str, comment: Comment) -> None:
    while await step(article, script, comment):
        pass


async def sweep(article: Article, until_ms: int = NOW - 1) -> int:
    return await article.store.deletions.sweep(PAGE, NOW, until_ms)


async def restore(article: Article, comment: Comment) -> int | None:
    return await article.store.deletions.restore(comment.id, NOW, MODERATOR)


async def counts(article: Article, *viewers: Viewer) -> list[int]:
    """How many comments the page says that these viewers have; the list of counts says the same,
    but for administrators, whom it tells of approved comments only."""
    found = [(await article.page(viewer=viewer)).count for viewer in viewers]
    for viewer, number in zip(viewers, found, strict=True):
        if viewer.sees != "all":
            assert await article.store.comments.counts([article.path], viewer) == [number]
    return found


async def thread_in_all_states(article: Article) -> list[Comment]:
    """A pinned root, and after it replies of every status, with likes, and replies to one."""
    root = await article.publish("root", account="bob")
    await article.pin(root, True)
    first = await article.publish("first", root)
    written = [
        root,
        first,
        await article.publish("to first", first, account="bob"),
        await article.publish("held to first", first, status="waiting", account="bob"),
        await article.publish("spam", root, status="spam"),
        await article.publish("held again", root),
        await article.publish("bob's", root, status="waiting", account="bob"),
    ]
    await article.moderate(written[5], "waiting")
    for each in written[::2]:
        await article.store.comments.like(each.id, 1, viewer=ADMIN)
    return written


# Deleting.


async def test_a_deleted_thread_is_in_no_index_and_comes_back_as_it_was(article: Article) -> None:
    other = await article.publish("other")
    (root, *_) = await thread_in_all_states(article)
    before, page = await state(article.store), rows(await article.page(viewer=ADMIN))
    assert await article.delete(root, NOW) == 0
    left = await state(article.store)
    assert {name: list(left[name]) for name in {*INDEXES} & {*left} - {"nested"}} == {
        "newest": [other.id[:SHORT]],
        "liked": [other.id[:SHORT]],
    }
    for viewer in (PUBLIC, BOB, ADMIN):
        assert await article.texts(viewer=viewer) == ["other"]
        assert await counts(article, viewer) == [1]
    assert await restore(article, root) == 0
    assert await state(article.store) == before
    assert rows(await article.page(viewer=ADMIN)) == page


async def test_a_deleted_reply_goes_with_the_replies_to_it_and_comes_back_with_them(
    article: Article,
) -> None:
    _, first, *_ = await thread_in_all_states(article)
    before = await state(article.store)
    assert await article.delete(first, NOW) == 0
    assert threads(await article.page(viewer=ADMIN)) == {"root": ["spam", "held again", "bob's"]}
    assert await counts(article, PUBLIC, BOB, ADMIN) == [1, 2, 4]
    assert await restore(article, first) == 0
    assert await state(article.store) == before


async def test_the_first_step_takes_a_root_from_readers_and_few_of_its_replies(
    article: Article, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletions, "STEP_REPLIES", 3)
    root = await article.publish("root")
    for n in range(10):
        await article.publish(str(n), root)
    assert await article.delete(root, NOW) == 7
    assert await article.texts(viewer=ADMIN) == []
    assert await counts(article, PUBLIC, BOB, ADMIN) == [0, 0, 0]
    assert len((await state(article.store))["replies"]) == 7
    await sweep(article)
    assert "replies" not in await state(article.store)


async def test_counts_are_right_at_each_step_of_a_deletion_and_of_its_undo(
    article: Article,
) -> None:
    await article.publish("other")
    root = await article.publish("root")
    for n in range(6):
        await article.publish(f"{n}", root, account="bob" if n % 2 else "")
    for n in range(2):
        await article.publish(f"held {n}", root, status="waiting", account="bob" if n else "")
    everyone = (PUBLIC, BOB, ADMIN)
    assert await counts(article, *everyone) == [8, 9, 10]
    left = await step(article, "delete", root, begins=True, most=2)
    while left:
        assert await counts(article, *everyone) == [1, 1, 1]
        left = await step(article, "delete", root)
    assert await counts(article, *everyone) == [1, 1, 1]
    left = await step(article, "restore", root, begins=True)
    while True:
        # Who comes back is counted and shown at once.
        for viewer in everyone:
            page = await article.page(viewer=viewer)
            assert page.count == len(rows(page))
        if not left:
            break
        left = await step(article, "restore", root)
    assert await counts(article, *everyone) == [8, 9, 10]


async def test_a_step_ends_at_so_many_bytes_and_takes_one_reply_at_least(article: Article) -> None:
    root = await article.publish("root")
    for n in range(6):
        await article.publish(str(n) * 100_000, root)
    left = [await article.delete(root, NOW)]
    for script in ("delete", "restore"):
        if script == "restore":
            left.append(await restore(article, root))
        while left[-1]:
            left.append(await step(article, script, root, most=200))
    assert left == [5, 3, 1, 0, 5, 3, 1, 0]


async def test_what_was_deleted_before_is_not_deleted_again(article: Article) -> None:
    root = await article.publish("root")
    reply = await article.publish("reply", root)
    to_reply = await article.publish("to reply", reply)
    assert await article.delete(reply, NOW) == 0
    before = await state(article.store)
    for each in (reply, to_reply):
        assert await article.delete(each, NOW + 1) is None
    assert await state(article.store) == before
    assert await article.delete(root, NOW) == 0
    assert await article.delete(root, NOW + 1) is None
    assert await article.delete(article.comment("never"), NOW) is None


# Two deletions, one inside the other.


async def test_a_reply_that_was_deleted_by_itself_does_not_come_back_with_its_thread(
    article: Article,
) -> None:
    root, first, *_ = await thread_in_all_states(article)
    whole = await state(article.store)
    await article.delete(first, NOW)
    before = await state(article.store)
    await article.delete(root, NOW)
    # Without its root a reply cannot come back.
    assert await restore(article, first) is None
    assert await restore(article, root) == 0
    assert await state(article.store) == before
    assert await restore(article, first) == 0
    assert await state(article.store) == whole


async def test_a_reply_comes_back_after_the_one_that_it_replies_to(article: Article) -> None:
    _, first, second, *_ = await thread_in_all_states(article)
    whole = await state(article.store)
    await article.delete(second, NOW)
    before = await state(article.store)
    await article.delete(first, NOW)
    assert await restore(article, second) is None
    assert await restore(article, first) == 0
    assert await state(article.store) == before
    assert await restore(article, second) == 0
    assert await state(article.store) == whole


async def test_what_went_with_another_comment_does_not_come_back_alone(article: Article) -> None:
    root, first, second, *_ = await thread_in_all_states(article)
    await article.delete(first, NOW)
    assert await restore(article, second) is None
    await article.delete(root, NOW)
    assert await restore(article, second) is None
    assert (await article.page(viewer=ADMIN)).count == 0


async def test_nothing_comes_back_twice(article: Article) -> None:
    root = await article.publish("root")
    assert await restore(article, root) is None
    await article.delete(root, NOW)
    assert await restore(article, root) == 0
    assert await restore(article, root) is None


async def thread_to_a_reply(article: Article) -> tuple[Comment, Comment]:
    """A root, and a reply with three replies to it."""
    root = await article.publish("root")
    reply = await article.publish("reply", root)
    for n in range(3):
        await article.publish(str(n), reply, status="spam" if n == 1 else "approved")
    return root, reply


async def test_a_thread_is_deleted_while_replies_to_a_deleted_reply_still_go(
    article: Article,
) -> None:
    root, reply = await thread_to_a_reply(article)
    whole = await state(article.store)
    assert await step(article, "delete", reply, begins=True) == 2
    assert await step(article, "delete", root, begins=True) == 1
    assert await counts(article, PUBLIC, BOB, ADMIN) == [0, 0, 0]
    # What is left goes with whichever comes first, and belongs to the reply in the end.
    await finish(article, "delete", reply)
    assert await counts(article, PUBLIC, BOB, ADMIN) == [0, 0, 0]
    await finish(article, "delete", root)
    assert await counts(article, PUBLIC, BOB, ADMIN) == [0, 0, 0]
    assert await restore(article, root) == 0
    assert threads(await article.page(viewer=ADMIN)) == {"root": []}
    assert await restore(article, reply) == 0
    assert await state(article.store) == whole


async def test_a_reply_still_takes_what_its_deleted_thread_has_taken(article: Article) -> None:
    root, reply = await thread_to_a_reply(article)
    whole = await state(article.store)
    assert await step(article, "delete", reply, begins=True) == 2
    await article.delete(root, NOW)
    await sweep(article)
    assert await counts(article, PUBLIC, BOB, ADMIN) == [0, 0, 0]
    assert await restore(article, root) == 0
    assert threads(await article.page(viewer=ADMIN)) == {"root": []}
    await sweep(article)
    assert await restore(article, reply) == 0
    assert await state(article.store) == whole


async def test_a_thread_is_deleted_and_removed_while_replies_to_a_reply_still_come_back(
    article: Article,
) -> None:
    for is_removed in (False, True):
        root, reply = await thread_to_a_reply(article)
        whole = await state(article.store)
        await article.delete(reply, NOW)
        assert await step(article, "restore", reply, begins=True, most=1) == 2
        await article.delete(root, NOW)
        await sweep(article)
        assert await counts(article, PUBLIC, BOB, ADMIN) == [0, 0, 0]
        if not is_removed:
            assert await restore(article, root) == 0
            await sweep(article)
            assert await state(article.store) == whole
            await article.delete(root, NOW)
        assert await sweep(article, LATER) == 0
        assert await state(article.store) == {}


# Deletions and undos that meet.


async def test_an_undo_takes_back_what_has_not_happened_yet(article: Article) -> None:
    (root, *_) = await thread_in_all_states(article)
    whole = await state(article.store)
    for steps in range(8):
        await step(article, "delete", root, begins=True)
        for _ in range(steps):
            await step(article, "delete", root)
        left = await restore(article, root)
        assert left is not None
        # A process that continued the deletion meanwhile is stopped.
        assert await step(article, "delete", root) is None
        await sweep(article)
        assert await state(article.store) == whole


async def test_a_deletion_takes_what_has_not_come_back_yet(article: Article) -> None:
    (root, *_) = await thread_in_all_states(article)
    whole = await state(article.store)
    for steps in range(8):
        await article.delete(root, NOW)
        gone = await state(article.store)
        await step(article, "restore", root, begins=True)
        for _ in range(steps):
            await step(article, "restore", root)
        await article.delete(root, NOW)
        assert await step(article, "restore", root) is None
        assert await counts(article, PUBLIC, BOB, ADMIN) == [0, 0, 0]
        await sweep(article)
        assert await state(article.store) == gone
        await restore(article, root)
        assert await state(article.store) == whole


async def test_others_write_on_while_replies_come_back(article: Article) -> None:
    root = await article.publish("root")
    replies = [await article.publish(str(n), root) for n in range(4)]
    await article.delete(root, NOW)
    await step(article, "restore", root, begins=True)
    await article.publish("new", root)
    await article.moderate(replies[0], "spam")
    await sweep(article)
    assert threads(await article.page()) == {"root": ["1", "2", "3", "new"]}
    assert await counts(article, PUBLIC, ADMIN) == [5, 6]


# Removing.


async def test_nothing_is_left_of_what_cannot_come_back_any_more(article: Article) -> None:
    for parts in (1, 100):
        root = article.comment("root", account="bob")
        await article.store.comments.publish(root, "approved", codec.fingerprint(root))
        reply = await article.publish("reply", root, status="waiting", account="eve")
        await article.publish("to reply", reply)
        await article.store.comments.like(root.id, 1)
        await article.delete(reply, NOW)
        await article.delete(root, NOW + parts)
        # Nothing is removed before its time.
        assert await sweep(article, NOW - 1) == NOW + UNDO_MS
        assert await sweep(article, NOW) == NOW + parts + UNDO_MS
        assert len((await state(article.store))["bodies"]) == 1
        assert await sweep(article, NOW + parts) == 0
        assert await state(article.store) == {}


async def test_long_threads_are_removed_in_steps(
    article: Article, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deleted, "STEP_REMOVED", 3)
    monkeypatch.setattr(deleted, "STEP_BYTES", 50_000)
    root = await article.publish("root")
    for n in range(8):
        await article.publish(f"{n}" * 20_000, root)
    other = await article.publish("other")
    await article.delete(root, NOW)
    assert await sweep(article, LATER) == 0
    assert set((await state(article.store))["bodies"]) == {other.id[:SHORT]}


async def test_what_came_back_is_not_removed(article: Article) -> None:
    root = await article.publish("root")
    reply = await article.publish("reply", root)
    whole = await state(article.store)
    await article.delete(root, NOW)
    await restore(article, root)
    await article.store.deletions.remove(root.id, LATER)
    assert await state(article.store) == whole
    # It was deleted again, and is stored for another minute.
    await article.delete(reply, LATER)
    assert await sweep(article, NOW) == LATER + UNDO_MS
    await restore(article, reply)
    assert await state(article.store) == whole


async def test_a_removed_comment_leaves_the_fingerprint_to_a_later_one(article: Article) -> None:
    first, second = article.comment("hello"), article.comment("hello")
    fingerprint = codec.fingerprint(first)
    await article.store.comments.publish(first, "approved", fingerprint)
    await article.delete(first, NOW)
    await article.store.comments.publish(second, "approved", fingerprint)
    await sweep(article, LATER)
    assert (await state(article.store))["fingerprints"] == {fingerprint: second.id[:SHORT].encode()}


async def test_a_comment_without_a_body_is_removed_too(article: Article) -> None:
    """Redis loses no body, but somebody who repairs a page by hand may."""
    root = await article.publish("root")
    reply = await article.publish("reply", root)
    await article.delete(root, NOW)
    for each in (root, reply):
        bodies = article.store.keys.page(PAGE, "bodies")
        await article.store.redis.client.hdel(bodies, each.id[:SHORT])
    await article.store.deletions.sweep(PAGE, NOW, LATER)
    assert "held" not in await state(article.store)
    assert await article.texts() == []

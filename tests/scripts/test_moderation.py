"""comments/moderate and comments/delete through their store methods, on every kind of server."""

from dataclasses import replace

import pytest

from footfall.driver.keys import digest
from footfall.errors import NoSuchParent
from footfall.model import Comment
from footfall.store import Store, codec
from footfall.store import moderation as module
from footfall.store.comments import AlreadyPublished
from footfall.store.ids import SHORT
from footfall.store.indexes import HASHES, INDEXES
from footfall.store.moderation import Overtaken, Whole, Words

from .test_comments import Article, rows, text_of

PAGE = digest("/p")


async def whole(store: Store, comment: Comment) -> Whole:
    (found,) = await store.moderation.whole([comment.id])
    return found


def reworded(before: Whole, text: str, *, is_compared: bool = True) -> Words:
    return Words(before, replace(before.comment, html=text, source=text), is_compared)


async def edit(store: Store, words: Words) -> None:
    await store.moderation.moderate(words.before.shown, None, words=words)


async def stored(store: Store) -> dict[str, int]:
    """How many entries each key of the page has."""
    counts = [("HLEN", name) for name in HASHES] + [("ZCARD", name) for name in INDEXES]
    found = await store.redis.ask(*((count, store.keys.page(PAGE, name)) for count, name in counts))
    return {name: number for (_, name), number in zip(counts, found, strict=True) if number}


# Edits.


async def test_a_new_text_replaces_the_one_that_was_read(store: Store) -> None:
    article = Article(store)
    first = await article.publish("first")
    before = await whole(store, first)
    await edit(store, reworded(before, "second"))
    assert [text_of(row) for row in rows(await article.page())] == ["second"]
    with pytest.raises(Overtaken):
        await edit(store, reworded(before, "third"))
    assert (await whole(store, first)).comment.source == "second"


async def test_new_names_are_stored_like_a_new_text(store: Store) -> None:
    article = Article(store)
    before = await whole(store, await article.publish("first"))
    renamed = Words(before, replace(before.comment, mail="new@example.com"), is_compared=False)
    await edit(store, renamed)
    with pytest.raises(Overtaken):
        await edit(store, reworded(before, "second"))


async def test_the_fingerprint_changes_with_the_text(store: Store) -> None:
    article = Article(store)
    first, second = article.comment("first"), article.comment("second")
    for each in (first, second):
        await store.comments.publish(each, "approved", codec.fingerprint(each))
    with pytest.raises(AlreadyPublished) as stopped:
        await edit(store, reworded(await whole(store, first), "second"))
    assert stopped.value.id == second.id
    await edit(store, reworded(await whole(store, first), "third"))
    again = article.comment("first")
    await store.comments.publish(again, "approved", codec.fingerprint(again))
    with pytest.raises(AlreadyPublished):
        third = article.comment("third")
        await store.comments.publish(third, "approved", codec.fingerprint(third))
    # A text by an administrator has no fingerprint, so others may post the same.
    await edit(store, reworded(await whole(store, first), "second", is_compared=False))
    assert (await stored(store))["fingerprints"] == 2


async def test_a_longer_text_raises_the_longest_length(store: Store) -> None:
    article = Article(store)
    first = await article.publish("first")
    await edit(store, reworded(await whole(store, first), "x" * 5000))
    (longest,) = await store.redis.ask(("GET", store.keys.page(PAGE, "longest")))
    assert int(longest) == len((await whole(store, first)).body)


async def test_text_and_status_change_in_one_step(store: Store) -> None:
    article = Article(store)
    first = await article.publish("first")
    words = reworded(await whole(store, first), "viagra")
    change = await store.moderation.moderate(words.before.shown, "spam", 5, words=words)
    assert change is not None
    assert (change.status, change.was, change.gained, change.visible) == ("spam", "approved", -1, 0)
    assert rows(await article.page()) == []


async def withdrawn(store: Store) -> dict[str, int]:
    found = await store.redis.client.zrange(
        store.keys.page(PAGE, "withdrawn"), 0, -1, withscores=True
    )
    return {id.decode(): int(score) for id, score in found}


async def test_a_comment_that_is_held_is_remembered_as_approved_before_until_it_is_again(
    store: Store,
) -> None:
    article = Article(store)
    seen, new = await article.publish("seen"), await article.publish("new", status="waiting")
    for comment in (seen, new):
        for status in ("spam", "waiting"):
            shown = (await whole(store, comment)).shown
            await store.moderation.moderate(shown, status)
    assert await withdrawn(store) == {seen.id[:SHORT]: 1}
    await store.moderation.moderate((await whole(store, seen)).shown, "approved")
    assert await withdrawn(store) == {}


async def test_what_is_remembered_goes_with_the_comment_and_comes_back_with_it(
    store: Store,
) -> None:
    article = Article(store)
    comment = await article.publish("seen")
    await store.moderation.moderate((await whole(store, comment)).shown, "spam")
    ((gone, _),) = await store.moderation.delete([await whole(store, comment)], 5)
    assert await withdrawn(store) == {}
    await store.comments.publish(comment, "spam", "", back=gone.shown, seen=gone.seen)
    assert await withdrawn(store) == {comment.id[:SHORT]: 1}


async def test_only_a_held_comment_is_news_again(store: Store) -> None:
    comment = await Article(store).publish("seen")
    assert not await store.outbox.untold(comment.id)
    await store.moderation.moderate((await whole(store, comment)).shown, "spam")
    assert await store.outbox.untold(comment.id)
    assert await withdrawn(store) == {comment.id[:SHORT]: 0}
    await store.moderation.moderate((await whole(store, comment)).shown, "approved")
    await store.moderation.moderate((await whole(store, comment)).shown, "spam")
    assert await withdrawn(store) == {comment.id[:SHORT]: 1}


# Deletion.


async def test_a_thread_is_deleted_with_everything_that_is_stored_of_it(store: Store) -> None:
    article = Article(store)
    root = article.comment("root", account="bob")
    await store.comments.publish(root, "approved", codec.fingerprint(root))
    await article.publish("one", root)
    await article.publish("two", root, status="waiting", account="eve")
    await article.pin(root, is_pinned=True)
    await store.comments.like(root.id, 1)
    ids = await store.moderation.replies(root.id)
    going = [*await store.moderation.whole(ids), await whole(store, root)]
    gone = await store.moderation.delete(going, 5, is_thread=True)
    assert await stored(store) == {}
    for account in ("bob", "eve"):
        (own,) = await store.redis.ask(("ZCARD", store.keys.mine(PAGE, account)))
        assert own == 0
    assert [(change.status, change.was, change.gained) for _, change in gone] == [
        ("deleted", "approved", -1),
        ("deleted", "waiting", 0),
        ("deleted", "approved", -1),
    ]
    # The script returns it as it was, so that it can be put back.
    shown = gone[-1][0].shown
    assert (shown.likes, shown.status, shown.is_pinned) == (1, "approved", True)


async def test_a_thread_that_has_grown_stays(store: Store) -> None:
    article = Article(store)
    root = await article.publish("root")
    await article.publish("one", root)
    going = [*await store.moderation.whole(await store.moderation.replies(root.id))]
    going.append(await whole(store, root))
    await article.publish("two", root, status="spam")
    before = await stored(store)
    with pytest.raises(Overtaken):
        await store.moderation.delete(going, 5, is_thread=True)
    assert await stored(store) == before


async def test_a_comment_with_another_text_than_was_read_stays(store: Store) -> None:
    article = Article(store)
    going = [await whole(store, await article.publish(text)) for text in "ab"]
    await edit(store, reworded(going[1], "c"))
    before = await stored(store)
    with pytest.raises(Overtaken):
        await store.moderation.delete(going, 5)
    assert await stored(store) == before


async def test_comments_that_are_gone_already_do_not_matter(store: Store) -> None:
    article = Article(store)
    going = [await whole(store, await article.publish(text)) for text in "ab"]
    await store.moderation.delete(going[:1], 5)
    gone = await store.moderation.delete(going, 6)
    assert [each.shown.id for each, _ in gone] == [going[1].shown.id]
    assert await store.moderation.delete(going, 7) == []


async def test_a_reply_to_a_comment_that_is_deleted_meanwhile_is_refused(store: Store) -> None:
    article = Article(store)
    root = await article.publish("root")
    reply = article.comment("late", root)
    await store.moderation.delete([await whole(store, root)], 5, is_thread=True)
    with pytest.raises(NoSuchParent):
        await store.comments.publish(reply, "approved", "")
    assert await stored(store) == {}


async def test_the_text_of_a_deleted_comment_may_be_posted_again(store: Store) -> None:
    article = Article(store)
    for _ in range(2):
        comment = article.comment("hello")
        await store.comments.publish(comment, "approved", codec.fingerprint(comment))
        await store.moderation.delete([await whole(store, comment)], 5)


async def test_replies_are_read_oldest_first_some_at_a_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STEP_COMMENTS", 2)
    article = Article(store)
    root, other = await article.publish("root"), await article.publish("other")
    wanted = []
    for n in range(5):
        status = ("approved", "spam")[n % 2]
        wanted.append((await article.publish(f"{n}", root, status=status)).id)  # type: ignore[arg-type]
        await article.publish(f"{n}", other)
    found = await store.moderation.replies(root.id)
    while ids := await store.moderation.replies(root.id, found[-1]):
        assert len(ids) <= 2
        found += ids
    assert found == wanted
    assert all(len(id) == 2 * SHORT for id in found)

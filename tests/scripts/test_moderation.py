"""comments/moderate through its store method, on every kind of server."""

from dataclasses import replace

import pytest

from footfall.comments.store import codec, deletions
from footfall.comments.store.moderation import Actor, Decision, Moderated, Overtaken
from footfall.comments.store.outcomes import AlreadyPublished
from footfall.data.store import Store
from footfall.ids import SHORT, digest
from footfall.model import STATUSES, Comment, StoredComment

from .test_comments import ADMIN, BOB, MODERATOR, Article, rows, text_of

PAGE = digest("/p")


async def whole(store: Store, comment: Comment) -> StoredComment:
    (found,) = await store.moderation.whole([comment.id])
    return found


def reworded(before: StoredComment, text: str) -> Comment:
    return replace(codec.comment(before), html=text, source=text)


async def edit(store: Store, before: StoredComment, after: Comment, *, is_own: bool = True) -> None:
    await store.moderation.moderate(before, None, 0, MODERATOR, after=after, is_own=is_own)


async def fingerprints(store: Store) -> int:
    (number,) = await store.redis.ask(("HLEN", store.keys.page(PAGE, "fingerprints")))
    return int(number)


# Edits.


async def test_a_new_text_replaces_the_one_that_was_read(store: Store) -> None:
    article = Article(store)
    first = await article.publish("first")
    before = await whole(store, first)
    await edit(store, before, reworded(before, "second"))
    assert [text_of(row) for row in rows(await article.page())] == ["second"]
    with pytest.raises(Overtaken):
        await edit(store, before, reworded(before, "third"))
    assert codec.comment(await whole(store, first)).source == "second"


async def test_new_names_are_stored_like_a_new_text(store: Store) -> None:
    article = Article(store)
    before = await whole(store, await article.publish("first"))
    renamed = replace(codec.comment(before), mail="new@example.com")
    await edit(store, before, renamed, is_own=False)
    with pytest.raises(Overtaken):
        await edit(store, before, reworded(before, "second"))


async def test_the_fingerprint_changes_with_the_text(store: Store) -> None:
    article = Article(store)
    first, second = article.comment("first"), article.comment("second")
    for each in (first, second):
        await store.comments.publish(each, "approved", codec.fingerprint(each))
    before = await whole(store, first)
    with pytest.raises(AlreadyPublished) as stopped:
        await edit(store, before, reworded(before, "second"))
    assert stopped.value.id == second.id
    await edit(store, before, reworded(before, "third"))
    again = article.comment("first")
    await store.comments.publish(again, "approved", codec.fingerprint(again))
    third = article.comment("third")
    with pytest.raises(AlreadyPublished):
        await store.comments.publish(third, "approved", codec.fingerprint(third))
    # A text by an administrator has no fingerprint, so others may post the same.
    before = await whole(store, first)
    await edit(store, before, reworded(before, "second"), is_own=False)
    assert await fingerprints(store) == 2


async def test_a_longer_text_raises_the_longest_length(store: Store) -> None:
    article = Article(store)
    first = await article.publish("first")
    before = await whole(store, first)
    await edit(store, before, reworded(before, "x" * 5000))
    (longest,) = await store.redis.ask(("GET", store.keys.page(PAGE, "longest")))
    assert int(longest) == len(codec.joined((await whole(store, first)).body))


async def test_text_and_status_change_in_one_step(store: Store) -> None:
    article = Article(store)
    first = await article.publish("first")
    before = await whole(store, first)
    after = reworded(before, "viagra")
    done = await store.moderation.moderate(before, "spam", 5, MODERATOR, after=after)
    assert done == Moderated("approved", True)
    assert rows(await article.page()) == []
    (found,) = rows(await article.page(viewer=ADMIN))
    assert (text_of(found), found.status) == ("viagra", "spam")


async def test_another_author_takes_the_comment_over(store: Store) -> None:
    article = Article(store)
    before = await whole(store, await article.publish("first", status="waiting", account="bob"))
    assert await store.comments.counts(["/p"], BOB) == [1]
    after = replace(codec.comment(before), account="", author="ann", nick="Ann")
    await edit(store, before, after, is_own=False)
    assert await store.comments.counts(["/p"], BOB) == [0]
    assert (await whole(store, codec.comment(before))).body.account == ""


async def test_the_words_of_a_deleted_comment_may_be_another_ones(store: Store) -> None:
    article = Article(store)
    first, second = article.comment("first"), article.comment("second")
    for each in (first, second):
        await store.comments.publish(each, "approved", codec.fingerprint(each))
    await article.delete(second)
    before = await whole(store, first)
    await edit(store, before, reworded(before, "second"))
    assert await article.texts() == ["second"]


# Status and pin.


async def test_a_comment_is_decided_on_only_as_it_was_read(store: Store) -> None:
    article = Article(store)
    comment = await article.publish("a", status="waiting")
    read, moderate = await whole(store, comment), store.moderation.moderate
    edited = reworded(read, "b")

    async def edit_it() -> None:
        await moderate(await whole(store, comment), None, 0, Actor("author"), after=edited)

    async def refuse(stored: StoredComment) -> None:
        with pytest.raises(Overtaken):
            await moderate(stored, "approved", 0, MODERATOR)
        with pytest.raises(Overtaken):
            await moderate(stored, None, 0, MODERATOR, is_pinned=True)
        with pytest.raises(Overtaken):
            await store.deletions.delete(stored, 0, MODERATOR)
        assert await article.texts() == []

    await edit_it()
    await refuse(read)
    read = await whole(store, comment)
    assert await moderate(read, "spam", 0, MODERATOR) == Moderated("waiting", True)
    await refuse(read)


async def test_an_undo_takes_back_only_what_its_action_did_last(store: Store) -> None:
    article, moderate = Article(store), store.moderation.moderate
    comment = await article.publish("a")
    first, second = (MODERATOR._replace(action=name) for name in ("first", "second"))

    async def undo(name: str) -> None:
        read = await whole(store, comment)
        await moderate(read, "approved", 0, MODERATOR, only=f"by {name}")

    await moderate(await whole(store, comment), "spam", 0, first)
    await moderate(await whole(store, comment), "waiting", 0, second)
    with pytest.raises(Overtaken):
        await undo("first")
    await undo("second")
    assert await article.texts() == ["a"]
    with pytest.raises(Overtaken):
        await undo("second")
    await store.deletions.delete(await whole(store, comment), 0, first)
    with pytest.raises(Overtaken):
        await store.deletions.restore(comment.id, 0, MODERATOR, "by second")
    assert await store.deletions.restore(comment.id, 0, MODERATOR, "by first") == 0
    assert await store.moderation.decisions([comment.id]) == {comment.id: Decision(0, MODERATOR)}


async def test_a_change_that_changes_nothing_raises_no_version_and_is_not_recorded(
    store: Store,
) -> None:
    article = Article(store)
    first, second = await article.publish("a"), await article.publish("b", status="waiting")
    await article.pin(first, True)
    await store.background.finished()
    before = await store.comments.version("/p")
    assert await article.moderate(first, "approved") == "approved"
    assert await article.moderate(second, "waiting") == "waiting"
    await article.pin(first, True)
    assert await store.comments.version("/p") == before
    assert len(await store.log.newest(10)) == 1


async def test_a_deleted_comment_is_gone_for_moderators_too(store: Store) -> None:
    article = Article(store)
    root = await article.publish("root")
    reply = await article.publish("reply", root)
    await article.delete(root)
    for each in (root, reply):
        assert await article.moderate(each, "spam") is None
        assert await store.moderation.whole([each.id]) == []


async def test_a_reply_below_a_root_that_was_deleted_just_now_is_gone_too(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletions, "STEP_REPLIES", 0)
    article = Article(store)
    root = await article.publish("root")
    reply = await article.publish("reply", root)
    await article.delete(root)
    assert await article.moderate(reply, "spam") is None


async def held(store: Store) -> dict[str, str]:
    found = await store.redis.client.hscan(store.keys.page(PAGE, "held"))
    return {id.decode(): words.decode() for id, words in found[1].items()}


async def test_a_comment_that_is_held_is_remembered_as_approved_before_until_it_is_again(
    store: Store,
) -> None:
    article = Article(store)
    seen, new = await article.publish("seen"), await article.publish("new", status="waiting")
    for comment in (seen, new):
        for status in STATUSES[1:]:
            await article.moderate(comment, status)
    assert await held(store) == {seen.id[:SHORT]: "spam 1", new.id[:SHORT]: "spam"}
    await article.moderate(seen, "approved")
    assert await held(store) == {new.id[:SHORT]: "spam"}


async def test_what_is_remembered_of_a_deleted_comment_comes_back_with_it(store: Store) -> None:
    article = Article(store)
    comment = await article.publish("seen")
    await article.moderate(comment, "spam")
    await article.delete(comment)
    assert await held(store) == {comment.id[:SHORT]: "deleted spam 1"}
    await store.deletions.restore(comment.id, 0, MODERATOR)
    assert await held(store) == {comment.id[:SHORT]: "spam 1"}


async def test_only_a_held_comment_is_news_again(store: Store) -> None:
    article = Article(store)
    comment = await article.publish("seen")
    assert not await store.outbox.mark_unnotified(comment.id)
    await article.moderate(comment, "spam")
    assert await store.outbox.mark_unnotified(comment.id)
    assert await held(store) == {comment.id[:SHORT]: "spam 0"}
    await article.moderate(comment, "approved")
    await article.moderate(comment, "spam")
    assert await held(store) == {comment.id[:SHORT]: "spam 1"}

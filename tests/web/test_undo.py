"""Many comments moderated at once, undo, and the log."""

from typing import Any

import pytest

from footfall.accounts.store.log import ModerationLog
from footfall.comments.store import actions as records
from footfall.comments.store.moderation import Moderation
from footfall.comments.store.projections import UNDO_MS
from footfall.errors import Duplicate, StoreUnavailable
from tests.conftest import ADMIN, BOB, Site
from tests.support.losing import catch_up, lost_replies

NONE = "0" * 32


def log_of(site: Site) -> ModerationLog:
    return ModerationLog(site.store.redis, site.store.keys)


async def posted(site: Site, texts: str) -> list[str]:
    return [(await site.post(text, url=f"/{n % 2}"))["objectId"] for n, text in enumerate(texts)]


async def put(site: Site, fields: dict[str, Any]) -> Any:
    return (await site.send("PUT", "/api/comment", fields, by=ADMIN))["data"]


async def delete(site: Site, ids: list[str]) -> Any:
    return (await site.send("DELETE", "/comment", {"ids": ids}, by=ADMIN))["data"]


async def undone(site: Site, answer: Any) -> Any:
    return (await put(site, {"undo": answer["undo"]}))["results"]


async def everything(site: Site) -> Any:
    queue = await site.get("/api/comment", by=ADMIN, type="list", pageSize=100)
    return queue, [await site.page(path, by=ADMIN) for path in ("/0", "/1")]


@pytest.mark.cluster
async def test_many_change_their_status_at_once_and_back(site: Site) -> None:
    ids = await posted(site, "abcd")
    await site.send("PUT", f"/comment/{ids[0]}", {"status": "spam"}, by=ADMIN)
    before = await everything(site)
    answer = await put(site, {"ids": [*ids, NONE, "x"], "status": "spam"})
    assert answer["results"] == {
        ids[0]: "unchanged",
        ids[1]: "done",
        ids[2]: "done",
        ids[3]: "done",
        NONE: "missing",
        "x": "missing",
    }
    assert await site.get("/comment", type="count") == 0
    assert await undone(site, answer) == dict.fromkeys(ids[1:], "done")
    assert await everything(site) == before


async def test_many_are_pinned_at_once_and_back(site: Site) -> None:
    ids = await posted(site, "abcd")
    answer = await put(site, {"ids": ids[:2], "sticky": 1})
    assert set(answer["results"].values()) == {"done"}
    assert (await site.page("/0"))["data"][0]["sticky"] is True
    await undone(site, answer)
    assert (await site.page("/0"))["data"][0]["sticky"] is False


async def test_threads_are_deleted_at_once_and_put_back_as_they_were(site: Site) -> None:
    root = await site.post("root", url="/0", by=BOB)
    child = await site.reply(root, "child", url="/0")
    await site.reply(child, "grandchild", url="/0")
    other = await site.post("other", url="/1")
    for id in (root["objectId"], child["objectId"]):
        await site.send("PUT", f"/comment/{id}", {"like": True})
    await site.send("PUT", f"/comment/{root['objectId']}", {"sticky": 1}, by=ADMIN)
    await site.send("PUT", f"/comment/{child['objectId']}", {"status": "waiting"}, by=ADMIN)
    before = await everything(site)
    ids = [root["objectId"], child["objectId"], other["objectId"], NONE]
    answer = await delete(site, ids)
    assert answer["results"] == dict.fromkeys(ids[:3], "done") | {NONE: "missing"}
    assert (await everything(site))[0]["data"]["data"] == []
    results = await undone(site, answer)
    assert results == dict.fromkeys(ids[:3], "done")
    assert await everything(site) == before
    # As before, the same text is a duplicate.
    site.clock.now += 3_600_000
    draft = {"comment": "other", "url": "/1", "nick": "Ann", "mail": "ann@example.com"}
    assert (await site.send("POST", "/api/comment", draft))["errmsg"] == Duplicate.text


async def test_a_decision_that_was_overtaken_changes_nothing_and_says_so(site: Site) -> None:
    """Two moderators look at the same list, and the second one's is a minute old."""
    ids = await posted(site, "abc")
    await put(site, {"ids": ids, "status": "waiting"})
    await put(site, {"ids": ids[:1], "status": "approved", "seen": ["waiting"]})
    before = await everything(site)
    stale = {"ids": ids[:2], "seen": ["waiting", "waiting"]}
    answer = await put(site, {**stale, "status": "spam"})
    assert answer["results"] == {ids[0]: "changed", ids[1]: "done"}
    deleted = await site.send("DELETE", "/comment", stale, by=ADMIN)
    assert deleted["data"]["results"] == {ids[0]: "changed", ids[1]: "changed"}
    await undone(site, answer)
    assert await everything(site) == before


@pytest.mark.parametrize("seen", [["waiting"], "waiting", ["waiting", ""], [1, 2], {}])
async def test_who_names_what_was_seen_names_it_for_each(site: Site, seen: object) -> None:
    ids = await posted(site, "ab")
    sent = {"ids": ids, "status": "spam", "seen": seen}
    for method in ("PUT", "DELETE"):
        answer = await site.send(method, "/api/comment", sent, by=ADMIN)
        assert (answer["errno"], answer["errmsg"]) == (
            1001,
            {"seen": "seen need a version for each of ids"},
        )


async def test_an_undo_works_once(site: Site) -> None:
    answer = await delete(site, await posted(site, "a"))
    await undone(site, answer)
    again = await site.send("PUT", "/api/comment", {"undo": answer["undo"]}, by=ADMIN)
    assert again == {"errno": 1000, "errmsg": "This can no longer be undone"}


@pytest.mark.parametrize("is_told", [True, False])
async def test_what_could_not_be_put_back_is_put_back_the_next_time(
    site: Site, monkeypatch: pytest.MonkeyPatch, is_told: bool
) -> None:
    """Redis was frozen for a moment, and did what it was asked, or not."""
    ids = await posted(site, "abc")
    answer = await delete(site, ids)
    deletions = site.service.comments.deletions
    restore = deletions.restore

    async def frozen(id: str, *words: Any) -> Any:
        if id != ids[0]:
            return await restore(id, *words)
        if is_told:
            await restore(id, *words)
        raise StoreUnavailable()

    with monkeypatch.context() as patch:
        patch.setattr(deletions, "restore", frozen)
        told = (await site.send("PUT", "/api/comment", {"undo": answer["undo"]}, by=ADMIN))["data"]
        assert told["results"] == {ids[0]: "failed", ids[1]: "done", ids[2]: "done"}
        assert told["undo"] == answer["undo"]
    results = await undone(site, answer)
    assert results[ids[0]] == ("unchanged" if is_told else "done")
    assert await site.get("/comment", type="count") == 3
    again = await site.send("PUT", "/api/comment", {"undo": answer["undo"]}, by=ADMIN)
    assert again["errmsg"] == "This can no longer be undone"


async def test_who_puts_back_and_ends_in_the_middle_leaves_it_to_others(site: Site) -> None:
    answer = await delete(site, await posted(site, "a"))
    stored = site.service.comments.actions
    assert await stored.claim(answer["undo"])
    again = await site.send("PUT", "/api/comment", {"undo": answer["undo"]}, by=ADMIN)
    assert again == {"errno": 1000, "errmsg": "This action is still running"}
    (left,) = await site.store.redis.ask(
        ("PTTL", site.store.keys.site(f"undoing:{answer['undo']}"))
    )
    assert 0 < left <= records.CLAIM_MS
    await stored.release(answer["undo"])
    await undone(site, answer)


async def test_what_somebody_started_to_put_back_is_not_removed_when_its_minute_is_over(
    site: Site,
) -> None:
    answer = await delete(site, await posted(site, "abc"))
    assert await site.service.comments.actions.claim(answer["undo"])
    site.clock.now += 2 * UNDO_MS
    await site.service.comments.deletions.sweep_due(site.clock.now)
    # It was cut off there, and somebody else goes on.
    await site.service.comments.actions.release(answer["undo"])
    assert [*(await undone(site, answer)).values()] == ["done"] * 3
    # What nobody has started to restored is removed once that is over.
    answer = await delete(site, await posted(site, "d"))
    await site.store.redis.client.delete(site.store.keys.held_back)
    site.clock.now += 2 * UNDO_MS
    await site.service.comments.deletions.sweep_due(site.clock.now)
    assert [*(await undone(site, answer)).values()] == ["missing"]


async def test_comments_that_were_changed_since_are_left_as_they_are(site: Site) -> None:
    ids = await posted(site, "ab")
    answer = await put(site, {"ids": ids, "status": "spam"})
    await put(site, {"ids": ids[:1], "status": "waiting"})
    await delete(site, ids[1:])
    assert await undone(site, answer) == {ids[0]: "changed", ids[1]: "missing"}


async def test_a_reply_is_not_put_back_without_its_root(site: Site) -> None:
    root = await site.post("root")
    reply = await site.reply(root, "reply")
    answer = await delete(site, [reply["objectId"]])
    await delete(site, [root["objectId"]])
    assert await undone(site, answer) == {reply["objectId"]: "missing"}


async def test_the_text_before_an_edit_is_put_back(site: Site) -> None:
    (id,) = await posted(site, "a")
    before = await everything(site)
    answer = await put(site, {"ids": [id], "comment": "**other**"})
    assert answer["results"] == {id: "done"}
    assert [each["orig"] for each in (await site.page("/0"))["data"]] == ["**other**"]
    assert await undone(site, answer) == {id: "done"}
    assert await everything(site) == before


async def test_a_text_that_was_edited_again_is_left_as_it_is(site: Site) -> None:
    (id,) = await posted(site, "a")
    answer = await put(site, {"ids": [id], "comment": "b"})
    await put(site, {"ids": [id], "comment": "c"})
    assert await undone(site, answer) == {id: "changed"}
    assert await put(site, {"ids": [id], "comment": "c"}) == {
        "results": {id: "unchanged"},
        "undo": "",
    }


async def test_only_one_text_can_be_changed_at_a_time(site: Site) -> None:
    fields = {"ids": await posted(site, "ab"), "comment": "c"}
    answer = await site.send("PUT", "/api/comment", fields, by=ADMIN)
    assert answer["errmsg"].keys() == {"comment"}


async def test_one_failure_does_not_prevent_the_others(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await posted(site, "abc")
    moderate = Moderation.moderate

    async def failing(self: Moderation, shown: Any, *words: Any, **named: Any) -> Any:
        if shown.id == ids[1]:
            raise StoreUnavailable()
        return await moderate(self, shown, *words, **named)

    monkeypatch.setattr(Moderation, "moderate", failing)
    results = (await put(site, {"ids": ids, "status": "spam"}))["results"]
    assert results == {ids[0]: "done", ids[1]: "failed", ids[2]: "done"}


@pytest.mark.parametrize("ids", ["x", [1], {"a": 1}, ["x" * 65], [f"{n}" for n in range(201)]])
async def test_a_list_of_ids_is_validated(site: Site, ids: Any) -> None:
    for method in ("PUT", "DELETE"):
        answer = await site.send(method, "/api/comment", {"ids": ids}, by=ADMIN)
        assert answer["errno"] == 1001
        assert answer["errmsg"].keys() == {"ids"}


async def test_the_log_says_who_did_what_and_has_no_texts(site: Site) -> None:
    root = await site.post("secret words")
    id = root["objectId"]
    await site.send("PUT", f"/comment/{id}", {"status": "spam"}, by=ADMIN)
    await site.send("PUT", f"/comment/{id}", {"sticky": 1}, by=ADMIN)
    await site.send("PUT", f"/comment/{id}", {"comment": "other words"}, by=ADMIN)
    answer = await delete(site, [id])
    await undone(site, answer)
    entries = await log_of(site).newest(10)
    told = [dict(entry.fields) for entry in reversed(entries)]
    assert told == [
        {"by": "admin", "did": did, "id": id, "was": was, "now": now, "door": "api", "action": name}
        for did, was, now, name in (
            ("moderate", "approved", "spam", ""),
            ("moderate", "spam", "spam, pinned", ""),
            ("edit", "spam, 12 characters", "spam, 11 characters", ""),
            ("delete", "spam", "deleted", answer["undo"]),
            ("restore", "deleted", "spam", ""),
        )
    ]
    older = await log_of(site).newest(2, entries[0].id)
    assert older == entries[1:3]


async def test_actions_of_authors_are_not_logged(site: Site) -> None:
    id = (await site.post("hello", by=BOB))["objectId"]
    await site.send("PUT", f"/comment/{id}", {"comment": "bye"}, by=BOB)
    await site.send("DELETE", f"/comment/{id}", by=BOB)
    assert await log_of(site).newest(10) == []


@pytest.mark.parametrize("lost", ["comments/moderate", "journal/apply"])
@pytest.mark.parametrize("tries", [1, 2])
async def test_a_moderation_is_logged_once_whose_reply_was_lost(
    site: Site, monkeypatch: pytest.MonkeyPatch, lost: str, tries: int
) -> None:
    id = (await site.post("hello"))["objectId"]
    for _ in range(tries):
        with lost_replies(monkeypatch, lost):
            await site.send("PUT", f"/comment/{id}", {"status": "spam"}, by=ADMIN)
            await site.settled()
    # A retry, to which nothing is left to do.
    assert (await put(site, {"ids": [id], "status": "spam"}))["results"] == {id: "unchanged"}
    await catch_up(site.service.comments.journal, monkeypatch)
    (entry,) = await log_of(site).newest(10)
    assert (entry.fields["by"], entry.fields["now"]) == ("admin", "spam")


async def test_a_change_without_effect_is_not_logged(site: Site) -> None:
    id = (await site.post("hello"))["objectId"]
    reply = await site.post("reply", pid=id, rid=id)
    for fields in ({"status": "approved"}, {"sticky": 0}, {"comment": "hello"}):
        await site.send("PUT", f"/comment/{id}", fields, by=ADMIN)
    await site.send("PUT", f"/comment/{reply['objectId']}", {"sticky": 1}, by=ADMIN)
    assert await log_of(site).newest(10) == []

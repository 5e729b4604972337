"""What was read is what is decided: of two who decide at the same moment, one is told so."""

import asyncio
from typing import Any

import pytest

from footfall.comments.rules import actions, moderation
from footfall.comments.rules.held_sweep import DAY_MS, HOUR_MS, HeldSweep
from footfall.comments.rules.orders import Order
from footfall.comments.store.deletions import Deletions
from footfall.comments.store.moderation import Moderation
from footfall.comments.store.projections import UNDO_MS
from footfall.driver.replies import ErrorReply
from footfall.errors import Changed, StoreUnavailable
from footfall.model import Account, Caller, Viewer
from tests.conftest import ADMIN, BOB, Site, Sites
from tests.support.accounts import save_account
from tests.web.test_owner_queue import WAITS, asked, part, posted

NAME = "0123456789abcdef"


async def version(site: Site, id: str) -> str:
    (comment,) = (await part(site, ids=id))["data"]
    return str(comment["version"])


async def statuses(site: Site) -> dict[str, str]:
    return {each["orig"]: each["status"] for each in (await part(site, pageSize=100))["data"]}


async def edited_by_author(site: Site, id: str, text: str) -> None:
    answer = await site.send("PUT", f"/api/comment/{id}", {"comment": text}, by=BOB)
    assert answer["data"]["orig"] == text


# The doors: each decides with what was read before the author has changed the text.


async def by_ids(site: Site, id: str, seen: str) -> Any:
    fields = {"ids": [id], "seen": [seen], "status": "approved"}
    return (await asked(site, "PUT", "comment", fields))["data"]["results"][id]


async def deleted_by_ids(site: Site, id: str, seen: str) -> Any:
    fields = {"ids": [id], "seen": [seen]}
    return (await asked(site, "DELETE", "comment", fields))["data"]["results"][id]


async def in_a_group(site: Site, id: str, seen: str) -> Any:
    fields = {"do": "approved", "ids": [id], "seen": [seen]}
    action = (await asked(site, "POST", "queue/bulk", fields))["data"]
    return "changed" if (action["done"], action["left"]) == (0, 1) else action


async def alone(site: Site, id: str, seen: str) -> Any:
    fields = {"status": "approved", "seen": seen}
    return (await site.send("PUT", f"/api/comment/{id}", fields, by=ADMIN))["errmsg"]


async def deleted_alone(site: Site, id: str, seen: str) -> Any:
    return (await site.send("DELETE", f"/api/comment/{id}", {"seen": seen}, by=ADMIN))["errmsg"]


async def with_a_reply(site: Site, id: str, seen: str) -> Any:
    fields = {"pid": id, "comment": "Thank you!", "seen": seen}
    return (await asked(site, "POST", "queue/reply", fields))["errmsg"]


@pytest.mark.parametrize(
    "door", [by_ids, deleted_by_ids, in_a_group, alone, deleted_alone, with_a_reply]
)
async def test_nobody_decides_on_a_text_that_they_have_not_read(
    make_site: Sites, door: Any
) -> None:
    site = await make_site(**WAITS, IPQPS="0")
    id = (await site.post("harmless", by=BOB))["objectId"]
    read = await version(site, id)
    await edited_by_author(site, id, "buy pills")
    assert await door(site, id, read) in ("changed", Changed.text)
    assert await statuses(site) == {"buy pills": "waiting"}
    # What they read now is decided.
    assert await door(site, id, await version(site, id)) not in ("changed", Changed.text)
    assert (await statuses(site)).get("buy pills") in (None, "approved")


async def test_who_has_changed_a_comment_meanwhile_is_said(make_site: Sites) -> None:
    site = await make_site(**WAITS, IPQPS="0")
    texts = ("edited", "approved", "deleted")
    ids = [(await site.post(text, by=BOB))["objectId"] for text in texts]
    seen = [await version(site, id) for id in ids]
    await edited_by_author(site, ids[0], "spam")
    await asked(site, "PUT", "comment", {"ids": [ids[1]], "status": "approved"})
    await asked(site, "DELETE", "comment", {"ids": [ids[2]]})
    fields = {"ids": [*ids, "nonsense"], "seen": [*seen, "waiting"], "status": "spam"}
    answer = (await site.send("PUT", "/api/comment", fields, by=ADMIN))["data"]
    times = [answer["changed"][id].pop("time") for id in ids]
    assert [*answer["results"].values()] == ["changed", "changed", "missing", "missing"]
    assert answer["changed"] == {
        ids[0]: {"by": "author", "nick": "", "door": ""},
        ids[1]: {"by": "moderator", "nick": "Admin", "door": "panel"},
        ids[2]: {"by": "moderator", "nick": "Admin", "door": "panel"},
    }
    assert 0 < times[0] < times[1] < times[2] <= site.clock.now


async def test_every_list_and_page_has_the_version_of_what_it_shows(site: Site) -> None:
    root = await site.post("root")
    await site.reply(root, "reply")
    queue = (await part(site))["data"]
    listed = (await site.get("/api/comment", by=ADMIN, type="list"))["data"]["data"]
    (shown,) = (await site.page(by=ADMIN))["data"]
    on_page = {each["objectId"]: each["version"] for each in (shown, *shown["children"])}
    for found in (queue, listed):
        assert {each["objectId"]: each["version"] for each in found} == on_page
    assert "version" not in (await site.page())["data"][0]
    assert len(set(on_page.values())) == 2


async def test_a_like_and_a_pin_leave_a_version_as_it_is(site: Site) -> None:
    id = (await site.post("a"))["objectId"]
    before = await version(site, id)
    await site.send("PUT", f"/api/comment/{id}", {"like": True})
    await site.send("PUT", f"/api/comment/{id}", {"sticky": 1}, by=ADMIN)
    assert await version(site, id) == before
    for fields in ({"status": "waiting"}, {"comment": "b"}, {"nick": "Eve"}):
        await site.send("PUT", f"/api/comment/{id}", fields, by=ADMIN)
        now = await version(site, id)
        assert now != before
        before = now


@pytest.mark.parametrize("seen", ["", "x" * 65, 7, ["x"]])
async def test_what_was_seen_of_one_comment_is_validated(site: Site, seen: Any) -> None:
    id = (await site.post("a"))["objectId"]
    answer = await site.send("PUT", f"/api/comment/{id}", {"sticky": 1, "seen": seen}, by=ADMIN)
    assert ("seen" in (answer["errmsg"] or {})) == (seen != "")


async def test_a_text_that_a_moderator_has_written_has_no_badge_of_its_author(site: Site) -> None:
    """A badge beside a text says who stands for it."""
    mod = Account("mo", "moderator", "Mo", "mo@example.com")
    id, comments = (await site.post("mine", by=ADMIN))["objectId"], site.service.comments

    async def badges() -> list[Any]:
        (shown,) = (await site.page())["data"]
        (recent,) = await site.get("/comment", type="recent")
        return [each.get("type") for each in (shown, recent)]

    async def edit(text: str, by: Account) -> None:
        await moderation.edit(comments, id, moderation.Edit(text), Caller(Viewer(by)))

    assert await badges() == ["administrator"] * 2
    await edit("not mine", mod)
    assert await badges() == [None, None]
    (queued,) = (await part(site))["data"]
    assert (queued["edited"], queued["user_id"]) == (True, ADMIN.id)
    await edit("mine again", ADMIN)
    assert await badges() == ["administrator"] * 2
    # A text that looks like the field is a text.
    await edit('"edited":true', ADMIN)
    assert await badges() == ["administrator"] * 2
    order = Order(edit=moderation.Edit("x"))
    action = await actions.carry_out(comments, order, {id: ""}, Caller(Viewer(mod)))
    assert await badges() == [None, None]
    await asked(site, "PUT", "comment", {"undo": action.name})
    assert await badges() == ["administrator"] * 2


# Two at the same moment.


@pytest.mark.parametrize("first", ["approved", "spam", "deleted"])
@pytest.mark.parametrize("second", ["approved", "spam", "deleted"])
async def test_of_two_decisions_at_the_same_moment_one_is_told_changed(
    make_site: Sites, first: str, second: str
) -> None:
    site = await make_site(**WAITS)
    ids = await posted(site, "abcdefghijklmnopqrst")
    seen = dict(zip(ids, [await version(site, id) for id in ids], strict=True))

    async def decide(status: str, id: str) -> str:
        fields: dict[str, Any] = {"ids": [id], "seen": [seen[id]]}
        if status == "deleted":
            answer = await asked(site, "DELETE", "comment", fields)
        else:
            answer = await asked(site, "PUT", "comment", fields | {"status": status})
        return str(answer["data"]["results"][id])

    results = await asyncio.gather(
        *(asyncio.gather(decide(first, id), decide(second, id)) for id in ids)
    )
    left = {each["objectId"]: each["status"] for each in (await part(site, pageSize=50))["data"]}
    for id, told in zip(ids, results, strict=True):
        assert told.count("done") == 1, told
        assert {*told} <= {"done", "changed", "missing"}
        won = (first, second)[told.index("done")]
        assert left.get(id, "deleted") == won
    entries = await site.service.comments.log.newest(100)
    assert sorted((e.fields["id"], e.fields["now"]) for e in entries) == sorted(
        (id, left.get(id, "deleted")) for id in ids
    )


# Records.


async def test_an_action_has_the_name_that_the_client_gives_it_and_is_done_once(site: Site) -> None:
    ids = await posted(site, "ab")
    fields = {"ids": ids, "action": NAME, "status": "spam"}
    first = (await asked(site, "PUT", "comment", fields))["data"]
    assert first == {"results": dict.fromkeys(ids, "done"), "undo": NAME}
    await asked(site, "PUT", "comment", {"ids": ids[:1], "status": "approved"})
    # A client that has lost the answer asks again.
    assert (await asked(site, "PUT", "comment", fields))["data"] == first
    assert await statuses(site) == {"a": "approved", "b": "spam"}


@pytest.mark.parametrize("name", ["short", "x" * 65, "0123456789abcde!", 7])
async def test_a_name_is_validated(site: Site, name: Any) -> None:
    ids = await posted(site, "a")
    for method in ("PUT", "DELETE"):
        answer = await asked(
            site, method, "comment", {"ids": ids, "action": name, "status": "spam"}
        )
        assert answer["errmsg"].keys() == {"action"}
    answer = await asked(site, "POST", "queue/bulk", {"ids": ids, "action": name, "do": "spam"})
    assert answer["errmsg"].keys() == {"action"}
    assert await statuses(site) == {"a": "approved"}


@pytest.mark.parametrize("method", ["start", "write"])
async def test_without_a_record_nothing_is_done(
    site: Site, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    ids = await posted(site, "abc")

    async def away(*_: Any) -> bool:
        raise StoreUnavailable()

    with monkeypatch.context() as patch:
        patch.setattr(site.service.comments.actions, method, away)
        for number, fields in enumerate(({"status": "spam"}, {"comment": "x"}, {})):
            named = {"ids": ids[:1], "action": f"{NAME}{number}", **fields}
            answer = await asked(site, "PUT" if fields else "DELETE", "comment", named)
            assert answer["errno"] == 503
        answer = await asked(site, "POST", "queue/bulk", {"ids": ids, "do": "deleted"})
        assert answer["errno"] == 503
    assert await statuses(site) == dict.fromkeys("abc", "approved")


@pytest.mark.parametrize("is_done", [True, False])
@pytest.mark.parametrize(("changes", "name"), [(Deletions, "delete"), (Moderation, "moderate")])
async def test_what_became_of_a_change_without_a_reply_is_found_out(
    site: Site, monkeypatch: pytest.MonkeyPatch, changes: Any, name: str, is_done: bool
) -> None:
    """The reply is lost once; a change that was made is not made again, nor taken for another's."""
    ids = await posted(site, "abc")
    change, lost = getattr(changes, name), set[str]()

    async def losing(self: Any, stored: Any, *words: Any, **named: Any) -> Any:
        if stored.id in lost:
            return await change(self, stored, *words, **named)
        lost.add(stored.id)
        if is_done:
            await change(self, stored, *words, **named)
        raise StoreUnavailable()

    monkeypatch.setattr(changes, name, losing)
    method, more = ("DELETE", {}) if name == "delete" else ("PUT", {"status": "spam"})
    answer = (await asked(site, method, "comment", {"ids": ids, **more}))["data"]
    assert answer["results"] == dict.fromkeys(ids, "done")
    back = (await asked(site, "PUT", "comment", {"undo": answer["undo"]}))["data"]
    assert back["results"] == dict.fromkeys(ids, "done")
    assert await statuses(site) == dict.fromkeys("abc", "approved")


async def test_what_has_failed_is_restored_where_it_was_done_all_the_same(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await posted(site, "abcd")
    delete = Deletions.delete

    async def frozen(self: Any, stored: Any, *words: Any) -> Any:
        if stored.id in ids[:2]:
            if stored.id == ids[0]:
                await delete(self, stored, *words)
            raise StoreUnavailable()
        return await delete(self, stored, *words)

    async def no_reply(self: Any, ids: Any) -> Any:
        raise StoreUnavailable()

    with monkeypatch.context() as patch:
        patch.setattr(Deletions, "delete", frozen)
        patch.setattr(Moderation, "decisions", no_reply)
        answer = (await asked(site, "DELETE", "comment", {"ids": ids}))["data"]
    assert answer["results"] == dict(zip(ids, ("failed", "failed", "done", "done"), strict=True))
    back = (await asked(site, "PUT", "comment", {"undo": answer["undo"]}))["data"]["results"]
    assert back == dict(zip(ids, ("done", "unchanged", "done", "done"), strict=True))
    assert await statuses(site) == dict.fromkeys("abcd", "approved")


async def test_the_actions_of_the_last_minute_are_listed_also_those_of_others(site: Site) -> None:
    ids = await posted(site, "abc")
    await asked(site, "PUT", "comment", {"ids": ids[:2], "status": "spam"})
    await asked(site, "DELETE", "comment", {"ids": ids[2:]}, by=ADMIN.id)
    await asked(site, "PUT", "comment", {"ids": ids[:2], "status": "spam"})
    found = (await asked(site, "GET", "queue/actions"))["data"]
    told = [(each["do"], each["done"], each["nick"], each["canUndo"]) for each in found]
    assert told == [("deleted", 1, "Admin", True), ("spam", 2, "Admin", True)]
    await asked(site, "PUT", "queue/bulk", {"name": found[0]["name"]})
    assert [each["do"] for each in (await asked(site, "GET", "queue/actions"))["data"]] == ["spam"]
    site.clock.now += UNDO_MS + 1
    assert (await asked(site, "GET", "queue/actions"))["data"] == []


@pytest.mark.parametrize("role", ["guest", "banned"])
async def test_a_long_action_ends_when_its_moderator_is_one_no_longer(
    site: Site, monkeypatch: pytest.MonkeyPatch, role: Any
) -> None:
    monkeypatch.setattr(actions, "STEP_COMMENTS", 2)
    ids = await posted(site, "abcdef")
    write = site.service.comments.actions.write

    async def demoting(*words: Any) -> None:
        await write(*words)
        await save_account(site.store, ADMIN.__class__(ADMIN.id, role, "Admin", "a@example.com"))

    monkeypatch.setattr(site.service.comments.actions, "write", demoting)
    action = (await asked(site, "POST", "queue/bulk", {"ids": ids, "do": "deleted"}))["data"]
    assert (action["done"], action["isCut"], action["canUndo"]) == (2, True, True)


async def test_a_sweep_leaves_what_is_approved_in_this_moment(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await make_site(SPAM_DAYS="30")
    ids = await posted(site, "ab")
    await asked(site, "PUT", "comment", {"ids": ids, "status": "spam"})
    sweep, delete = HeldSweep(site.service.comments), Deletions.delete

    async def overtaken(self: Any, stored: Any, *words: Any) -> Any:
        if stored.id == ids[0]:
            await asked(site, "PUT", "comment", {"ids": ids[:1], "status": "approved"})
        return await delete(self, stored, *words)

    monkeypatch.setattr(Deletions, "delete", overtaken)
    for wait_ms in (31 * DAY_MS, DAY_MS + HOUR_MS):
        site.clock.now += wait_ms
        await sweep.step()
    assert await statuses(site) == {"a": "approved"}


async def test_a_damaged_site_refuses_an_action_as_a_whole(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of Redis is none of the comments'."""
    ids = await posted(site, "a")

    async def wrong(*_: Any) -> None:
        raise ErrorReply("WRONGTYPE")

    monkeypatch.setattr(site.service.comments.actions, "write", wrong)
    assert (await asked(site, "DELETE", "comment", {"ids": ids}))["errno"] != 0
    assert await statuses(site) == {"a": "approved"}

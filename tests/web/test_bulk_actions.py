"""Actions on all that a list has, behind the request, and their undo."""

import asyncio
from dataclasses import asdict
from typing import Any

import pytest

from footfall.comments.rules import actions, progress, queue
from footfall.comments.rules.progress import Action
from footfall.errors import StoreUnavailable
from tests.conftest import ADMIN, Site, Sites
from tests.web.test_owner_queue import WAITS, asked, part, posted, words


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "STEP_COMMENTS", 3)
    monkeypatch.setattr(queue, "QUEUE_STEP_COMMENTS", 3)
    monkeypatch.setattr(actions, "PACE_SECONDS", 0)


async def start(site: Site, **fields: Any) -> Any:
    answer = await asked(site, "POST", "queue/bulk", fields)
    assert answer["errno"] == 0, answer
    return answer["data"]


async def counts(site: Site) -> tuple[int, int]:
    found = await part(site)
    return found["waiting"], found["spam"]


@pytest.mark.cluster
async def test_all_that_a_list_has_is_changed_up_to_what_was_seen_and_put_back(
    make_site: Sites,
) -> None:
    site = await make_site(**WAITS)
    ids = await posted(site, "abcdefghij")
    # Nobody has seen the last two.
    action = await start(site, do="spam", status="waiting", newest=ids[7])
    name = action.pop("name")
    assert action == {
        "total": 10,
        "done": 8,
        "left": 0,
        "isRunning": False,
        "isCut": False,
        "canUndo": True,
    }
    assert await counts(site) == (2, 8)
    undone = (await asked(site, "PUT", "queue/bulk", {"name": name}))["data"]
    assert (undone["done"], undone["left"], undone["isRunning"]) == (8, 0, False)
    assert await counts(site) == (10, 0)
    again = await asked(site, "PUT", "queue/bulk", {"name": name})
    assert again["errmsg"] == "This can no longer be undone"
    assert await counts(site) == (10, 0)


async def test_an_undo_goes_on_where_redis_went_away(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await posted(site, "abcdefghi")
    name = (await start(site, do="deleted", newest=ids[-1]))["name"]
    deletions = site.service.comments.deletions
    restore = deletions.restore

    async def away(id: str, *words: Any) -> int | None:
        if id in ids[3:6]:
            raise StoreUnavailable()
        return await restore(id, *words)

    with monkeypatch.context() as patch:
        patch.setattr(deletions, "restore", away)
        first = (await asked(site, "PUT", "queue/bulk", {"name": name}))["data"]
    assert (first["done"], first["left"]) == (len(ids) - 3, 3)
    assert first["canUndo"] is True
    again = (await asked(site, "PUT", "queue/bulk", {"name": name}))["data"]
    assert again["done"] == 3
    assert again["canUndo"] is False
    assert len((await part(site))["data"]) == len(ids)


async def test_threads_that_are_emptied_come_back_whole(site: Site) -> None:
    roots = [await site.post(f"root {n}", url=f"/{n}") for n in range(3)]
    for root in roots:
        child = await site.reply(root, "child", url=root["url"])
        await site.reply(child, "grandchild", url=root["url"])
    before = await part(site, pageSize=100)
    action = await start(site, do="deleted", newest=before["data"][0]["objectId"])
    assert (action["done"], (await part(site))["data"]) == (9, [])
    await asked(site, "PUT", "queue/bulk", {"name": action["name"]})
    assert await part(site, pageSize=100) == before


async def test_all_that_a_search_finds(site: Site) -> None:
    ids = [(await site.post(f"{'odd' if n % 2 else 'even'} {n}"))["objectId"] for n in range(9)]
    action = await start(site, do="spam", keyword="EVEN", newest=ids[-1])
    assert (action["total"], action["done"]) == (None, 5)
    assert words(await part(site, status="approved")) == ["odd 7", "odd 5", "odd 3", "odd 1"]


async def test_what_somebody_else_has_decided_meanwhile_is_left(make_site: Sites) -> None:
    site = await make_site(**WAITS)
    ids = await posted(site, "abcd")
    await asked(site, "PUT", "comment", {"ids": ids[:1], "status": "approved"})
    await asked(site, "DELETE", "comment", {"ids": ids[1:2]})
    for deed, left in (("spam", 2), ("deleted", 4)):
        action = await start(site, do=deed, ids=ids, status="waiting")
        assert action["left"] == left
    assert words(await part(site, status="approved")) == ["a"]
    assert words(await part(site, status="spam")) == ["d", "c"]


async def test_it_goes_on_behind_the_request_and_says_how_far_it_is(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await posted(site, "abcdefg")
    goes_on = asyncio.Event()
    stored = site.service.comments.actions
    write = stored.write

    async def waiting(name: str, entries: Any, head: Any, now_ms: int) -> None:
        if ids[0] in entries:
            await goes_on.wait()
        await write(name, entries, head, now_ms)

    monkeypatch.setattr(actions, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(stored, "write", waiting)
    action = await start(site, do="spam", ids=ids)
    look = f"queue/bulk?name={action['name']}"
    while (now := (await asked(site, "GET", look))["data"])["done"] < 6:
        await asyncio.sleep(0)
    assert (now["total"], now["done"], now["isRunning"]) == (7, 6, True)
    refused = await asked(site, "PUT", "queue/bulk", {"name": action["name"]})
    assert refused["errmsg"] == "This action is still running"
    goes_on.set()
    await site.settled()
    assert (await asked(site, "GET", look))["data"]["isRunning"] is False
    assert await counts(site) == (0, 7)


async def test_it_ends_where_it_may_not_go_on(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "MAX_BULK_COMMENTS", 4)
    ids = await posted(site, "abcdefghi")
    action = await start(site, do="deleted", newest=ids[-1])
    assert (action["done"], action["isCut"]) == (4, True)
    assert len((await part(site))["data"]) == 5


async def test_it_is_seen_to_have_stopped_where_redis_went_away(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await posted(site, "abcdefg")
    look = type(site.service.comments.index).listed

    async def gone(self: Any, *words: Any, **named: Any) -> Any:
        if named.get("behind") == ids[3]:
            raise StoreUnavailable()
        return await look(self, *words, **named)

    monkeypatch.setattr(type(site.service.comments.index), "listed", gone)
    action = await start(site, do="spam", newest=ids[-1])
    assert (action["done"], action["isRunning"], action["canUndo"]) == (4, False, True)


async def test_one_whose_end_is_not_noted_is_listed_with_what_it_did_and_can_be_undone(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "0" * 16
    ids = await posted(site, "abcd")

    async def lost(*words: Any) -> None:
        raise StoreUnavailable()

    with monkeypatch.context() as patched:
        patched.setattr(site.service.comments.actions, "note", lost)
        fields = {"ids": ids, "status": "spam", "action": name}
        await asked(site, "PUT", "comment", fields)
    await asked(site, "PUT", "comment", {"ids": ids[:1], "status": "approved"})
    assert (await asked(site, "GET", f"queue/bulk?name={name}"))["data"]["isRunning"] is True
    refused = await asked(site, "PUT", "comment", {"undo": name})
    assert refused["errmsg"] == "This action is still running"
    site.clock.now += progress.STOPPED_MS + 1
    # The first comment has been changed by somebody since.
    seen = (await asked(site, "GET", "queue/actions"))["data"][-1]
    assert (seen["name"], seen["done"], seen["isRunning"], seen["isCut"]) == (name, 3, False, True)
    again = await asked(site, "PUT", "comment", fields)
    assert again["data"]["results"] == {ids[0]: "failed"} | dict.fromkeys(ids[1:], "done")
    undone = await asked(site, "PUT", "comment", {"undo": name})
    assert undone["data"]["results"] == {ids[0]: "unchanged"} | dict.fromkeys(ids[1:], "done")


async def test_an_undo_whose_process_has_ended_is_as_far_as_it_noted(site: Site) -> None:
    undo = Action("0" * 16, ADMIN.id, "spam", 10, done=3, is_undo=True, at_ms=site.clock())
    await site.service.comments.actions.note(undo.name, asdict(undo))
    site.clock.now += progress.STOPPED_MS + 1
    found = (await asked(site, "GET", f"queue/bulk?name={undo.name}"))["data"]
    assert (found["done"], found["isRunning"], found["isCut"]) == (3, False, True)


async def test_the_end_is_noted_again_after_a_lost_reply(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await posted(site, "ab")
    note, lost = site.service.comments.actions.note, [StoreUnavailable()]

    async def lost_once(*words: Any) -> None:
        if lost:
            raise lost.pop()
        await note(*words)

    monkeypatch.setattr(site.service.comments.actions, "note", lost_once)
    done = await asked(site, "PUT", "comment", {"ids": ids, "status": "spam"})
    undone = await asked(site, "PUT", "comment", {"undo": done["data"]["undo"]})
    assert undone["data"]["results"] == dict.fromkeys(ids, "done")


async def test_one_person_has_few_of_them_at_a_time(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await posted(site, "a")
    goes_on = asyncio.Event()

    async def waiting(*words: Any) -> None:
        await goes_on.wait()

    monkeypatch.setattr(actions, "WAIT_SECONDS", 0)
    monkeypatch.setattr(site.service.comments.actions, "write", waiting)
    answers = [
        await asked(site, "POST", "queue/bulk", {"do": "spam", "ids": ids}) for _ in range(9)
    ]
    assert [answer["errno"] for answer in answers] == [0] * 8 + [429]
    goes_on.set()
    await site.settled()
    assert (await start(site, do="spam", ids=ids))["name"]


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"do": "gone", "newest": "0" * 32}, "do"),
        ({"newest": "0" * 32}, "do"),
        ({"do": "spam"}, "newest"),
        ({"do": "spam", "newest": "x"}, "newest"),
        ({"do": "spam", "ids": []}, "ids"),
        ({"do": "spam", "ids": "x"}, "ids"),
        ({"do": "spam", "ids": [1]}, "ids"),
        ({"do": "spam", "ids": ["x"] * 1001}, "ids"),
        ({"do": "spam", "ids": ["x"], "status": "gone"}, "status"),
    ],
    ids=str,
)
async def test_its_fields_are_validated(site: Site, fields: dict[str, Any], wrong: str) -> None:
    answer = await asked(site, "POST", "queue/bulk", fields)
    assert (answer["errno"], answer["errmsg"].keys()) == (1001, {wrong})


async def test_the_log_names_who_did_it(site: Site) -> None:
    ids = await posted(site, "ab")
    await start(site, do="spam", newest=ids[-1])
    entries = await site.service.comments.log.newest(5)
    assert {entry.fields["by"] for entry in entries} == {ADMIN.id}
    assert {entry.fields["id"] for entry in entries} == set(ids)


async def test_what_a_ban_would_catch_is_removed_and_nothing_else(site: Site) -> None:
    texts = ("https://a.casino.example", "hello", "casino.example")
    ids = [(await site.post(text))["objectId"] for text in texts]
    await start(site, do="deleted", status="", ban="casino.example", newest=ids[-1])
    assert words(await part(site)) == ["casino.example", "hello"]
    for ban in ("", "  ", "*@*", 7):
        fields = {"do": "deleted", "status": "", "ban": ban, "newest": ids[-1]}
        assert (await asked(site, "POST", "queue/bulk", fields))["errno"] in (1000, 1001), ban
    assert len((await part(site))["data"]) == 2

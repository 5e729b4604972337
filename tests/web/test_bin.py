"""The bin: what was deleted can be restored, or removed, for days."""

import asyncio
from typing import Any

import pytest

from footfall.comments.store import deleted, deletions
from footfall.comments.store.projections import UNDO_MS
from tests.conftest import ADMIN, BOB, Clock, Site
from tests.support.backups import report
from tests.support.importing import DATA
from tests.web.test_import_page import send
from tests.web.test_owner_queue import asked, part, posted

DAY_MS = 86_400_000


@pytest.fixture(autouse=True)
async def bin_of_a_week(site: Site) -> None:
    site.store.deletions.kept_ms = 7 * DAY_MS


async def bin_of(site: Site, **query: Any) -> Any:
    words = "&".join(f"{name}={value}" for name, value in query.items())
    return (await asked(site, "GET", f"queue/bin?{words}"))["data"]


def texts(found: Any) -> list[str]:
    return [row["comment"]["orig"] for row in found["data"]]


async def sweep(site: Site, wait_ms: int = 0) -> None:
    site.clock.now += wait_ms
    await site.settled()
    await site.service.comments.deletions.sweep_due(site.clock.now)


async def delete(site: Site, *ids: str) -> None:
    answer = await asked(site, "DELETE", "comment", {"ids": ids})
    assert {*answer["data"]["results"].values()} == {"done"}


async def restore(site: Site, *ids: str) -> Any:
    return (await asked(site, "PUT", "queue/bin", {"ids": ids}))["data"]["results"]


@pytest.mark.cluster
async def test_what_is_deleted_is_in_the_bin_for_days_and_comes_back_as_it_was(site: Site) -> None:
    root = await site.post("root", url="/0")
    reply = await site.reply(root, "reply", url="/0", by=BOB)
    await site.send("PUT", f"/api/comment/{root['objectId']}", {"sticky": 1}, by=ADMIN)
    await asked(site, "PUT", "comment", {"ids": [reply["objectId"]], "status": "spam"})
    before = await part(site)
    at = site.clock.now
    await delete(site, root["objectId"])
    await sweep(site, 6 * DAY_MS)
    found = await bin_of(site)
    (row,) = found["data"]
    assert (found["total"], found["after"], row["replies"]) == (1, "", 1)
    assert (row["comment"]["orig"], row["comment"]["status"]) == ("root", "approved")
    assert (row["comment"]["sticky"], row["comment"]["mail"]) == (True, "ann@example.com")
    assert at < row["deleted"].pop("time") < at + 1000
    assert row["deleted"] == {"by": "moderator", "nick": "Admin", "door": "panel"}
    assert at + 7 * DAY_MS < row["removedAt"] < at + 8 * DAY_MS
    assert await restore(site, root["objectId"]) == {root["objectId"]: "done"}
    await sweep(site)
    assert await part(site) == before
    assert (await bin_of(site))["data"] == []
    assert (await report(site.store))[:-1] == []


async def test_when_its_days_are_over_nothing_is_left_of_it(site: Site) -> None:
    ids = await posted(site, "abc")
    await delete(site, ids[0])
    await sweep(site, 5 * DAY_MS)
    await delete(site, ids[1])
    await sweep(site, 2 * DAY_MS)
    await sweep(site, UNDO_MS)
    assert texts(await bin_of(site)) == ["b"]
    assert await restore(site, ids[0]) == {ids[0]: "missing"}
    await sweep(site, 8 * DAY_MS)
    await sweep(site, UNDO_MS)
    assert await bin_of(site) == {"data": [], "after": "", "total": 0}
    assert (await report(site.store))[:-1] == []


async def test_the_newest_deletions_come_first_and_the_list_goes_on(site: Site) -> None:
    ids = await posted(site, "abcdefg")
    for id in (ids[3], ids[0], *ids[4:], *ids[1:3]):
        await delete(site, id)
        site.clock.now += 1000
    first = await bin_of(site, pageSize=3)
    assert (texts(first), first["total"]) == (["c", "b", "g"], 7)
    # What is restored meanwhile makes nobody skip another one.
    await restore(site, ids[6], ids[2])
    second = await bin_of(site, pageSize=3, after=first["after"])
    assert texts(second) == ["f", "e", "a"]
    third = await bin_of(site, pageSize=3, after=second["after"])
    assert (texts(third), third["after"]) == (["d"], "")


async def test_deletions_of_the_same_moment_are_all_listed_once(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = {(await site.post(f"text {n}", url=f"/{n}"))["objectId"] for n in range(5)}
    site.clock.now += 1000
    monkeypatch.setattr(Clock, "__call__", lambda clock: clock.now)
    await delete(site, *ids)
    found, after = list[str](), ""
    while not found or after:
        some = await bin_of(site, pageSize=2, after=after)
        found += [row["comment"]["objectId"] for row in some["data"]]
        after = some["after"]
    assert sorted(found) == sorted(ids)


async def test_who_has_deleted_a_comment_is_said(site: Site) -> None:
    own = (await site.post("own", by=BOB))["objectId"]
    other = (await site.post("other"))["objectId"]
    await site.send("DELETE", f"/api/comment/{own}", by=BOB)
    await site.send("DELETE", f"/api/comment/{other}", by=ADMIN)
    found = (await bin_of(site))["data"]
    told = [(row["deleted"]["by"], row["deleted"]["door"]) for row in found]
    assert told == [("moderator", "api"), ("author", "")]


async def test_what_is_removed_now_is_gone_and_logged_and_nothing_else_is(site: Site) -> None:
    root = await site.post("root")
    reply = await site.reply(root, "reply")
    other, live = [(await site.post(text))["objectId"] for text in ("other", "live")]
    await delete(site, root["objectId"])
    await delete(site, other)
    ids = [root["objectId"], reply["objectId"], live, "x"]
    answer = await asked(site, "DELETE", "queue/bin", {"ids": ids})
    assert answer["data"]["results"] == {
        root["objectId"]: "done",
        reply["objectId"]: "missing",
        live: "missing",
        "x": "missing",
    }
    assert texts(await bin_of(site)) == ["other"]
    (entry, *_) = await site.service.comments.log.newest(1)
    assert (entry.fields["did"], entry.fields["id"]) == ("remove", root["objectId"])
    assert [each["orig"] for each in (await part(site))["data"]] == ["live"]
    assert (await report(site.store))[:-1] == []


async def test_a_reply_comes_back_after_its_thread(site: Site) -> None:
    root = await site.post("root")
    reply = await site.reply(root, "reply")
    ids = [root["objectId"], reply["objectId"]]
    await delete(site, ids[1])
    await delete(site, ids[0])
    assert await restore(site, ids[1]) == {ids[1]: "missing"}
    assert await restore(site, *reversed(ids)) == dict.fromkeys(ids, "done")
    assert await restore(site, *ids) == dict.fromkeys(ids, "unchanged")


async def test_of_a_restore_and_a_removal_at_the_same_moment_one_wins(site: Site) -> None:
    ids = await posted(site, "abcdefghij" * 2)
    await delete(site, *ids)
    restored, removed = await asyncio.gather(
        asked(site, "PUT", "queue/bin", {"ids": ids}),
        asked(site, "DELETE", "queue/bin", {"ids": ids}),
    )
    left = {each["objectId"] for each in (await part(site, pageSize=50))["data"]}
    for id in ids:
        outcomes = restored["data"]["results"][id], removed["data"]["results"][id]
        assert outcomes.count("done") == 1, outcomes
        assert (id in left) == (outcomes[0] == "done")
    assert (await report(site.store))[:-1] == []


async def test_a_full_bin_stops_no_deletion_of_a_long_thread(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What follows after the request is found among all that is deleted."""
    monkeypatch.setattr(deletions, "STEP_REPLIES", 2)
    monkeypatch.setattr(deleted, "MAX_HEADS", 3)
    for n in range(8):
        await delete(site, (await site.post(f"old {n}"))["objectId"])
    root = await site.post("root")
    for n in range(6):
        await site.reply(root, f"reply {n}")
    await delete(site, root["objectId"])
    await sweep(site)
    (hidden,) = await site.store.redis.ask(
        ("HLEN", site.store.keys.page(root["objectId"][16:], "hidden"))
    )
    assert hidden == 0
    assert await restore(site, root["objectId"]) == {root["objectId"]: "done"}
    await sweep(site)
    assert len((await part(site))["data"]) == 7
    assert (await report(site.store))[:-1] == []


async def test_an_import_restores_what_it_has_and_leaves_the_rest_in_the_bin(site: Site) -> None:
    file = (DATA / "waline.json").read_bytes()
    await send(site, file)
    (imported,) = (await site.page("/hello/"))["data"]
    own = await site.post("own", url="/hello/")
    await delete(site, own["objectId"], imported["objectId"])
    done = (await send(site, file))[-1]["data"]["comments"]
    assert done["stored"] > 0
    (back,) = (await site.page("/hello/"))["data"]
    assert (back["orig"], len(back["children"])) == (imported["orig"], len(imported["children"]))
    assert texts(await bin_of(site)) == ["own"]


@pytest.mark.parametrize("after", ["x", "-1", "1e9", "17", "17-x", f"nan-{'0' * 32}"])
async def test_a_mark_is_validated(site: Site, after: str) -> None:
    answer = await asked(site, "GET", f"queue/bin?after={after}")
    assert answer["errmsg"].keys() == {"after"}

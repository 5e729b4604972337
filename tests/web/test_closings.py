"""Pages that take no new comments: who is rejected, from when on, and who may decide."""

from typing import Any

import pytest

from footfall.cli.dataset import CONSOLE
from footfall.comments.rules.page_moves import move
from footfall.comments.store import closings
from tests.conftest import ADMIN, BOB, Site

from .test_admin import asked

DAY_MS = 86_400_000
CLOSED = {"errno": 1000, "errmsg": "Comments on this page are closed"}


async def close(site: Site, path: str, days: int | None = 0) -> Any:
    return await asked(site, "PUT", "pages/closed", {"path": path, "days": days}, by=ADMIN.id)


async def rules(site: Site) -> dict[str, int]:
    answer = await asked(site, "GET", "pages/closed", by=ADMIN.id)
    return {each["path"]: each["days"] for each in answer["data"]["data"]}


async def post(site: Site, path: str, **fields: Any) -> Any:
    by = fields.pop("by", None)
    draft = {"comment": f"hello {site.clock()}", "url": path, "nick": "Ann", **fields}
    return await site.send("POST", "/api/comment", draft, by=by)


async def is_open(site: Site, path: str) -> bool:
    site.clock.now += 1
    answer = await post(site, path)
    assert answer["errno"] == 0 or answer == CLOSED, answer
    return bool(answer["errno"] == 0)


async def test_a_closed_page_takes_comments_of_moderators_alone(site: Site) -> None:
    first = await site.post("First", url="/a", by=BOB)
    await close(site, "/a")
    id = first["objectId"]
    assert await post(site, "/a") == CLOSED
    assert await post(site, "/a", by=BOB) == CLOSED
    assert await post(site, "/a", pid=id, rid=id) == CLOSED
    assert (await post(site, "/a", by=ADMIN))["errno"] == 0
    assert await is_open(site, "/b")
    # What is there is as alive as before.
    edit = {"comment": "Second thoughts"}
    assert (await site.send("PUT", f"/api/comment/{id}", edit, by=BOB))["errno"] == 0
    assert (await site.send("PUT", f"/api/comment/{id}", {"like": True}))["errno"] == 0
    await close(site, "/a", None)
    assert await is_open(site, "/a")
    assert await rules(site) == {}


async def test_a_page_closes_so_many_days_after_its_first_comment(site: Site) -> None:
    await close(site, "/a", 14)
    # Without a comment the days have not started.
    site.clock.now += 30 * DAY_MS
    assert await is_open(site, "/a")
    site.clock.now += 14 * DAY_MS - 60_000
    assert await is_open(site, "/a")
    site.clock.now += 60_000
    assert not await is_open(site, "/a")


async def test_the_first_comment_counts_also_if_it_is_pinned_and_no_held_one_does(
    site: Site,
) -> None:
    held = (await site.post("Spam", url="/b"))["objectId"]
    await site.send("PUT", f"/api/comment/{held}", {"status": "spam"}, by=ADMIN)
    pinned = (await site.post("First", url="/a"))["objectId"]
    await site.send("PUT", f"/api/comment/{pinned}", {"sticky": 1}, by=ADMIN)
    await close(site, "", 14)
    site.clock.now += 20 * DAY_MS
    assert not await is_open(site, "/a")
    assert await is_open(site, "/b")


async def test_a_page_with_a_rule_of_its_own_does_not_follow_all_others(site: Site) -> None:
    await close(site, "")
    await close(site, "/guestbook", -1)
    assert await is_open(site, "/guestbook")
    assert not await is_open(site, "/a")
    await close(site, "/guestbook", None)
    assert not await is_open(site, "/guestbook")


async def test_a_retry_of_a_comment_that_was_stored_is_answered_though_the_page_has_closed(
    site: Site,
) -> None:
    draft = {"comment": "Hello", "url": "/a", "nick": "Ann", "mail": "ann@example.com"}
    first = await site.send("POST", "/api/comment", draft)
    await close(site, "/a")
    assert await site.send("POST", "/api/comment", draft) == first


@pytest.mark.parametrize("days", [-2, 36_501, "0", True, 1.5, [], 10**30])
async def test_what_is_no_number_of_days_is_refused(site: Site, days: Any) -> None:
    answer = await close(site, "/a", days)
    assert (answer["errno"], "days" in str(answer["errmsg"])) == (1001, True)
    assert await rules(site) == {}


async def test_no_more_pages_are_closed_one_by_one_than_a_list_can_show(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closings, "MAX_CLOSINGS", 2)
    await close(site, "/a")
    await close(site, "/b")
    answer = await close(site, "/c")
    assert "Close all pages after some days instead" in answer["errmsg"]
    await close(site, "/a", 7)
    assert await rules(site) == {"/a": 7, "/b": 0}


async def test_a_page_that_moves_takes_its_rule_along(site: Site) -> None:
    by = CONSOLE.viewer.account
    assert by
    for path in ("/a", "/b", "/c"):
        await site.post("First", url=path)
    await close(site, "/a", 7)
    await move(site.service.comments, "/a", "/new", by.id)
    assert await rules(site) == {"/new": 7}
    # A page that is there has its say.
    await close(site, "/b", -1)
    await move(site.service.comments, "/new", "/b", by.id)
    assert await rules(site) == {"/b": -1}


async def test_the_log_tells_who_closed_what(site: Site) -> None:
    await close(site, "/a")
    await close(site, "", 14)
    await close(site, "/a", None)
    await close(site, "/a", None)
    entries = await site.service.comments.log.newest(9)
    assert [dict(each.fields) for each in entries] == [
        {"by": ADMIN.id, "did": "close", "id": id, "was": was, "now": now}
        for id, was, now in [
            ("/a", "closed", ""),
            ("*", "", "closed after 14 days"),
            ("/a", "", "closed"),
        ]
    ]


@pytest.mark.parametrize("value", ["", "x", "-2", "1.5", "99999999", b"\xff"])
async def test_what_something_else_has_written_closes_nothing(
    site: Site, value: str | bytes
) -> None:
    key = site.store.keys.site("closed")
    await site.store.redis.change(("HSET", key, "/a", value))
    assert await is_open(site, "/a")
    assert await rules(site) == {}

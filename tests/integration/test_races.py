"""Simultaneous requests on real servers: every number is exact. Waline keeps 6 of 200
increments.
"""

import asyncio
from typing import Any

import pytest

from tests.conftest import ADMIN, BOB, EVERYWHERE, Site, Sites
from tests.support.backups import report

ON = EVERYWHERE

# On a Cluster what they change at once is on several nodes.
pytestmark = pytest.mark.cluster


async def test_two_hundred_views_at_once_are_two_hundred_distinct_answers(site: Site) -> None:
    answers = await asyncio.gather(*(site.count("/a") for _ in range(200)))
    assert sorted(answers) == list(range(1, 201))
    assert await site.get("/article", path="/a") == 200


async def test_two_hundred_likes_at_once_are_two_hundred_likes(site: Site) -> None:
    id = (await site.post("hello"))["objectId"]
    liked = await asyncio.gather(
        *(site.send("PUT", f"/comment/{id}", {"like": True}) for _ in range(200))
    )
    assert sorted(each["data"]["like"] for each in liked) == list(range(1, 201))


async def test_ups_and_downs_at_once_never_go_below_zero(site: Site) -> None:
    actions = ["inc", "desc"] * 100
    answers = await asyncio.gather(
        *(site.count("/a", type="reaction0", action=action) for action in actions)
    )
    assert min(answers) >= 0
    # A step down from zero changed nothing: what is left is the steps up less those down that
    # counted.
    left = await site.get("/article", path="/a", type="reaction0")
    assert 0 <= left <= 100
    await asyncio.gather(*(site.count("/a", type="reaction0", action="desc") for _ in range(100)))
    assert await site.get("/article", path="/a", type="reaction0") == 0


async def test_fifty_identical_comments_at_once_are_stored_once(site: Site) -> None:
    draft = {"comment": "hello", "url": "/p", "nick": "Ann", "mail": "ann@example.com"}
    answers = await asyncio.gather(*(site.send("POST", "/api/comment", draft) for _ in range(50)))
    # One is stored, and the answer to the others is the stored one.
    (listed,) = (await site.page())["data"]
    assert {answer["data"]["objectId"] for answer in answers} == {listed["objectId"]}


async def test_fifty_comments_of_one_address_at_once_let_one_through(make_site: Sites) -> None:
    site = await make_site(IPQPS="60")

    async def post(n: int) -> Any:
        return await site.send("POST", "/api/comment", {"comment": str(n), "url": f"/{n % 3}"})

    answers = await asyncio.gather(*(post(n) for n in range(50)))
    assert sorted(answer["errno"] for answer in answers) == [0] + [1000] * 49
    assert await site.get("/comment", type="count") == 1


async def test_comments_on_many_pages_at_once_add_up(site: Site) -> None:
    await asyncio.gather(*(site.post(str(n), url=f"/{n % 7}") for n in range(140)))
    assert await site.get("/comment", type="count") == 140
    urls = ",".join(f"/{n}" for n in range(7))
    assert await site.get("/comment", type="count", url=urls) == [20] * 7
    recent = await site.get("/comment", type="recent", count=50)
    times = [each["time"] for each in recent]
    assert times == sorted(times, reverse=True)


async def test_replies_that_come_while_their_root_is_deleted_go_with_it_or_are_refused(
    site: Site,
) -> None:
    root = await site.post("root")
    child = await site.reply(root, "child")
    for going in (child, root):
        draft = {"url": "/p", "pid": going["objectId"], "rid": root["objectId"], "nick": "Ed"}
        replies = [
            site.send("POST", "/api/comment", draft | {"comment": f"{going['orig']} {n}"})
            for n in range(30)
        ]
        target = f"/api/comment/{going['objectId']}"
        replies.insert(15, site.send("DELETE", target, by=ADMIN))
        answers = await asyncio.gather(*replies)
        assert {answer["errno"] for answer in answers} <= {0, 1000}
        queue = await site.get("/api/comment", by=ADMIN, type="list", pageSize=100)
        left = [each for each in queue["data"]["data"] if each.get("pid") == going["objectId"]]
        assert left == []
    assert await site.get("/comment", type="count") == 0
    (summary,) = await report(site.store)
    assert summary.endswith(" 0 problems")


async def test_of_two_who_edit_or_delete_at_once_each_is_answered_with_what_is(site: Site) -> None:
    id = (await site.post("hello", by=BOB))["objectId"]
    target = f"/api/comment/{id}"
    edits = [
        site.send("PUT", target, {"comment": f"words {n}"}, by=BOB if n % 2 else ADMIN)
        for n in range(20)
    ]
    answers = await asyncio.gather(*edits)
    assert {answer["errno"] for answer in answers} == {0}
    (shown,) = (await site.page())["data"]
    assert shown["orig"].startswith("words ")
    gone = await asyncio.gather(*(site.send("DELETE", target, by=ADMIN) for _ in range(10)))
    assert all(each == {"errno": 0, "errmsg": "", "data": ""} for each in gone)
    assert await site.get("/comment", type="count") == 0


async def test_of_many_who_undo_at_once_one_does(site: Site) -> None:
    ids = [(await site.post(str(n)))["objectId"] for n in range(5)]
    answer = await site.send("DELETE", "/api/comment", {"ids": ids}, by=ADMIN)
    body = {"undo": answer["data"]["undo"]}
    answers = await asyncio.gather(
        *(site.send("PUT", "/api/comment", body, by=ADMIN) for _ in range(10))
    )
    assert sorted(each["errno"] for each in answers) == [0] + [1000] * 9
    assert await site.get("/comment", type="count") == 5


async def test_an_empty_read_is_answered_at_once(site: Site) -> None:
    redis = site.store.redis
    async with asyncio.timeout(60):
        assert [await redis.ask(), await redis.ask_masters(), await redis.change()] == [[], [], []]

"""Pages of comments that are made enormous to stop the service, Redis, or their readers."""

import asyncio
from typing import Any

import pytest

from footfall.comments.store import codec
from footfall.ids import SHORT, IdGenerator, created_ms, digest
from footfall.limits import answer_cache
from footfall.limits.answer_cache import AnswerCache
from footfall.limits.pools import Pools
from footfall.model import Comment, Status
from footfall.render import view as view_module
from tests.conftest import ADMIN, Site, server_of

ON = ("valkey",)

MIB = 1 << 20
PAGE = digest("/p")


class Flood:
    """Comments on /p, stored without the limits of written comments."""

    def __init__(self, site: Site) -> None:
        self._comments = site.store.comments
        self._mint = IdGenerator()
        self._now = 1_700_000_000_000

    def comment(self, html: str, root: str = "", **fields: Any) -> Comment:
        self._now += 1
        id = self._mint.new(self._now, "/p")
        made = {"nick": "Eve", "parent": root, "root": root, **fields}
        return Comment(id, "/p", created_ms(id), html, "", **made)

    async def post(self, comment: Comment, status: Status = "approved") -> str:
        await self._comments.publish(comment, status, "")
        return comment.id

    async def roots(self, number: int, status: Status = "approved") -> None:
        await self.replies("", number, status=status)

    async def replies(
        self, root: str, number: int, html: str = "<p>x</p>", status: Status = "approved"
    ) -> None:
        made = [self.comment(html, root) for _ in range(number)]
        for first in range(0, number, 500):
            await asyncio.gather(*(self.post(each, status) for each in made[first : first + 500]))


@pytest.fixture
def flood(site: Site) -> Flood:
    return Flood(site)


@pytest.mark.rare
async def test_a_thread_of_thousands_of_replies(
    site: Site, flood: Flood, request: pytest.FixtureRequest
) -> None:
    """Who: somebody with many addresses. What: replies to one comment by the thousand, so that
    every request for its page reads and sends them all. Instead: a page has at most a thousand of
    them, and Redis does no more for it than for a thread half as long; the rest is counted, and can
    be read on to its end."""
    root = await flood.post(flood.comment("<p>root</p>"))
    other = await flood.post(flood.comment("<p>other</p>"))
    await flood.replies(other, 3)
    await site.page()
    costs = []
    for number in (2000, 4000):
        await flood.replies(root, 2000)
        with server_of("valkey", request.getfixturevalue("servers")).admin() as admin:
            admin.config_resetstat()
            page = await site.page()
            stats = admin.info("commandstats")
        costs.append({name: each["calls"] for name, each in stats.items() if "config" not in name})
        first, second = page["data"]
        assert (len(first["children"]), len(second["children"])) == (3, 997)
        assert second["more"] == {"replies": number - 997}
    assert costs[0] == costs[1]
    seen = {each["objectId"] for each in second["children"]}
    after = second["children"][-1]["objectId"]
    while after:
        (thread,) = (await site.page(rid=root, after=after, pageSize=100))["data"]
        seen |= {each["objectId"] for each in thread["children"]}
        after = thread["children"][-1]["objectId"] if "more" in thread else ""
    assert len(seen) == 4000


@pytest.mark.rare
@pytest.mark.parametrize("order", ["insertedAt_desc", "insertedAt_asc", "like_desc"])
async def test_a_page_of_comments_of_megabytes(site: Site, flood: Flood, order: str) -> None:
    """Who: somebody who found how to make a short comment long, before that was bounded. What:
    writes eight comments of megabytes on one page, and as many replies. Instead: the page stays
    about a megabyte; the long ones say that they do not fit, and all others are there."""
    short = await flood.post(flood.comment("<p>short</p>"))
    await flood.replies(short, 5)
    for _ in range(8):
        long = await flood.post(flood.comment("x" * 2 * MIB))
        await flood.post(flood.comment("y" * 2 * MIB, short))
        await flood.replies(long, 1)
    response = await site.http.get("/api/comment", params={"path": "/p", "sortBy": order})
    assert len(response.content) < 1.2 * MIB
    page = response.json()["data"]
    assert (page["count"], len(page["data"])) == (30, 9)
    found = {each["objectId"]: each for each in page["data"]}
    assert found.pop(short)["comment"] == "<p>short</p>"
    assert all(each["more"] == {"text": True} for each in found.values())
    assert all(len(each["children"]) == 1 for each in found.values())


async def test_a_long_name_that_a_thousand_replies_repeat(site: Site, flood: Flood) -> None:
    """Who: an author with the longest possible name and address. What: gets a thousand short
    replies, each of which names whom it replies to. Instead: the bytes of such names on a page are
    limited, and further replies are shown without."""
    link = "https://e.example/" + "a" * 2000
    root = await flood.post(flood.comment("<p>root</p>", nick="E" * 128, link=link, avatar=link))
    await flood.replies(root, 1000)
    response = await site.http.get("/api/comment?path=/p")
    assert len(response.content) < MIB + 2 * view_module.MAX_REPEATED_BYTES
    (thread,) = response.json()["data"]["data"]
    assert len(thread["children"]) == 1000
    named = ["reply_user" in each for each in thread["children"]]
    assert named == sorted(named, reverse=True)
    assert 10 < named.count(True) < 1000


@pytest.mark.rare
@pytest.mark.parametrize("order", ["insertedAt_desc", "insertedAt_asc", "like_desc"])
async def test_thousands_of_held_roots_before_an_administrator(
    site: Site, flood: Flood, order: str, request: pytest.FixtureRequest
) -> None:
    """Who: a spammer whose comments are held. What: writes thousands of them, so that Redis stops
    for every page that an administrator looks at. Instead: it finds a page among them by halving,
    in steps that are as many as the digits of their number, and all of them are shown."""
    await flood.roots(1000)
    await flood.roots(2000, status="spam")
    await flood.roots(1000)
    commands = []
    with server_of("valkey", request.getfixturevalue("servers")).admin() as admin:
        for number in (1, 150, 300, 400):
            admin.config_resetstat()
            page = await site.page(by=ADMIN, sortBy=order, page=number)
            stats = admin.info("commandstats")
            commands.append(sum(stat["calls"] for stat in stats.values()))
            assert (len(page["data"]), page["totalPages"]) == (10, 400)
    # Each step looks at a held root and at an approved one.
    assert max(commands) - commands[0] <= 2 * (2000).bit_length()


@pytest.mark.rare
async def test_a_hundred_big_pages_at_once(
    site: Site, flood: Flood, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: somebody who can open a hundred connections. What: asks on each for another part of a
    big page, so that all are in memory at the same time. Instead: few are made at a time, and the
    cache is bounded."""
    for _ in range(20):
        await flood.post(flood.comment("x" * 100_000))
    under_way = most = 0
    page = site.store.comments.page

    async def counted(*args: Any, **values: Any) -> Any:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        try:
            return await page(*args, **values)
        finally:
            under_way -= 1

    monkeypatch.setattr(site.store.comments, "page", counted)
    answers = await asyncio.gather(
        *(
            site.http.get("/api/comment", params={"path": "/p", "pageSize": 1 + n // 4, "page": n})
            for n in range(1, 100)
        )
    )
    assert {answer.status_code for answer in answers} == {200}
    assert most == Pools().pages.at_once
    assert site.service.comments.page_cache.bytes <= answer_cache.MAX_CACHE_BYTES


async def test_one_page_that_would_push_all_others_out(
    site: Site, flood: Flood, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: somebody who wants every reader's page to be made again. What: asks again and again for
    a page that fills the cache. Instead: a page that would fill a quarter of it is never cached."""
    monkeypatch.setattr(answer_cache, "MAX_CACHE_BYTES", 300_000)
    object.__setattr__(site.service.comments, "page_cache", AnswerCache(300_000))
    await site.page("/other")
    kept = site.service.comments.page_cache.bytes
    for _ in range(8):
        await flood.post(flood.comment("x" * 20_000))
    for _ in range(3):
        assert len((await site.page())["data"]) == 8
    assert site.service.comments.page_cache.bytes == kept


async def test_the_newest_comments_all_enormous(site: Site, flood: Flood) -> None:
    """Who: a spammer with the newest comments of the site. What: makes them as long as possible, so
    that every page that shows recent comments loads them all. Instead: the answer is at most a
    megabyte, and the long ones are left out, not the others."""
    await site.post("honest", url="/q")
    for _ in range(30):
        await flood.post(flood.comment("x" * 100_000))
    response = await site.http.get("/api/comment?type=recent&count=50")
    assert len(response.content) < 1.1 * MIB
    found = response.json()["data"]
    assert 5 < len(found) < 15
    assert "honest" in [each["orig"] for each in found]


@pytest.mark.parametrize(
    "id", ["\x00", ":", ";", "[", "(", "-", "+", "\ud7ff", "\U0010ffff", "a:b", "%", "*" * 40]
)
async def test_ids_that_mean_something_to_redis(site: Site, flood: Flood, id: str) -> None:
    """Who: a curious stranger. What: names a thread, or the reply to read on after, by characters
    that have a meaning in ranges of a sorted set. Instead: these are ids of no comment."""
    root = await flood.post(flood.comment("<p>root</p>"))
    await flood.replies(root, 3)
    assert (await site.page(rid=id))["data"] == []
    assert (await site.page(rid=id + root[SHORT:]))["data"] == []
    (thread,) = (await site.page(rid=root, after=id))["data"]
    assert {each["rid"] for each in thread["children"]} <= {root}


async def test_a_body_that_grew_behind_the_pages_back(site: Site, flood: Flood) -> None:
    """Who: an older version of the service beside this one, during an upgrade. What: stores a
    comment of megabytes on a page, and does not raise the page's longest length. Instead: if a
    page's longest length is not known, each length is read first."""
    id = await flood.post(flood.comment("<p>root</p>"))
    store = site.store
    key = store.keys.page(PAGE, "bodies")
    big = codec.body(flood.comment("x" * 2 * MIB))
    await store.redis.change(
        ("HSET", key, id[:SHORT], big), ("DEL", store.keys.page(PAGE, "longest"))
    )
    response = await site.http.get("/api/comment?path=/p")
    assert len(response.content) < 10_000
    assert response.json()["data"]["data"][0]["more"] == {"text": True}

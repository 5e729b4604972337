"""A comment whose answer was lost, and which its author's client sends again: it is stored once,
and the author gets the stored one.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from footfall.comments.store.comments import CommentStore
from footfall.data.store import Store
from footfall.driver.client import connect
from footfall.errors import Duplicate
from tests.conftest import ADMIN, BOB, REAL, Site, Sites, server_of
from tests.support.servers import RealServer
from tests.support.serving import serving

from .test_failures import Proxy

DRAFT = {
    "comment": "hello *there*",
    "url": "/p",
    "nick": "Ann",
    "mail": "ann@example.com",
    "link": "https://ann.example",
    "ua": "Mozilla/5.0 (X11; Linux x86_64) Chrome/120.0.0.0",
}
A_MINUTE = 60_000
DUPLICATE = {"errno": 1000, "errmsg": Duplicate.text}


async def post(site: Site, by: Any = None, path: str = "/api/comment", **fields: Any) -> Any:
    return await site.send("POST", path, DRAFT | fields, by=by)


@pytest.mark.parametrize("path", ["/api/comment", "/comment"])
async def test_a_repetition_within_a_minute_is_answered_like_the_first(
    site: Site, path: str
) -> None:
    first = await post(site, path=path)
    assert first["data"]["like"] == 0
    await site.send("PUT", f"/comment/{first['data']['objectId']}", {"like": True})
    site.clock.now = first["data"]["time"] + A_MINUTE - 2
    assert await post(site, path=path) == first
    assert await post(site, path=path) == DUPLICATE
    assert (await site.page())["count"] == 1


async def test_a_held_comment_sent_again_is_held_again(make_site: Sites) -> None:
    site = await make_site(COMMENT_AUDIT="true", FORBIDDEN_WORDS="casino")
    for text, status in (("hello", "waiting"), ("to the casino", "spam")):
        for by in (None, BOB):
            first = await post(site, comment=text, by=by)
            assert first["data"]["status"] == status
            assert await post(site, comment=text, by=by) == first


async def test_only_the_same_comment_is_a_repetition(site: Site) -> None:
    roots = [await site.post(text) for text in ("one", "another")]
    ids = [root["objectId"] for root in roots]
    first = await post(site, pid=ids[0], rid=ids[0])
    assert await post(site, pid=ids[0], rid=ids[0]) == first
    # The same text in reply to somebody else is a new comment.
    assert await post(site, pid=ids[1], rid=ids[1]) == DUPLICATE
    assert await post(site) == DUPLICATE
    for fields in ({"nick": "Ed"}, {"mail": "ed@example.com"}, {"link": ""}, {"url": "/q"}):
        assert (await post(site, **fields))["data"]["objectId"] != first["data"]["objectId"]


async def test_an_administrator_may_post_everything_twice(site: Site) -> None:
    first, second = [await post(site, by=ADMIN) for _ in range(2)]
    assert first["data"]["objectId"] != second["data"]["objectId"]


async def test_a_repetition_is_not_too_fast(make_site: Sites) -> None:
    site = await make_site(IPQPS="60")
    first = await post(site)
    assert await post(site) == first
    assert ((await post(site, comment="more"))["errmsg"]).startswith("Comment too fast! ")
    site.clock.now += A_MINUTE
    assert await post(site) == DUPLICATE


async def test_a_repetition_that_lost_the_race_for_the_cooldown_is_answered_with_the_stored_comment(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await make_site(IPQPS="60")
    retry_after = type(site.store.buckets).retry_after
    twins: list[Any] = []

    async def late(buckets: Any, which: Any) -> int:
        if not twins:
            twins.append(None)
            # The same comment arrives between check and cooldown, and is stored.
            twins[0] = await post(site)
        return await retry_after(buckets, which)

    monkeypatch.setattr(type(site.store.buckets), "retry_after", late)
    answer = await post(site)
    assert answer["errno"] == 0
    assert twins == [answer]


async def test_two_processes_that_are_sent_the_same_at_once_store_it_once(make_site: Sites) -> None:
    sites = [await make_site() for _ in range(2)]
    answers = await asyncio.gather(*(post(sites[n % 2]) for n in range(20)))
    (listed,) = (await sites[0].page())["data"]
    assert {answer["data"]["objectId"] for answer in answers} == {listed["objectId"]}
    assert await sites[1].get("/comment", type="count") == 1


@pytest.mark.rare
def test_a_repetition_may_reach_another_worker(own: Path) -> None:
    with serving(own, "--workers", "2", IPQPS="60") as served:
        # One connection each, so that both workers get some.
        answers = [httpx.post(f"{served.url}/api/comment", json=DRAFT).json() for _ in range(12)]
    assert [answer["errno"] for answer in answers] == [0] * 12
    assert len({answer["data"]["objectId"] for answer in answers}) == 1


@pytest.mark.parametrize("window", ["0", "60"])
@pytest.mark.parametrize("name", REAL)
async def test_a_comment_whose_reply_redis_lost_is_answered_when_it_is_sent_again(
    name: str,
    window: str,
    servers: Mapping[str, RealServer],
    own: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proxy = Proxy(server_of(name, servers).socket)
    async with proxy.listening(own / "p") as url:
        store = Store(connect(url, timeout=1.5), prefix=f"again{window}", buckets=256)
        await store.create()
        sites = Sites(store)
        site = await sites(IPQPS=window)
        # One request gets its reply, so that Redis has the scripts and later ones run at once.
        await (await sites("192.0.2.1", IPQPS=window)).post("before", url="/q")
        publish = CommentStore.publish

        async def losing(self: CommentStore, *words: Any) -> Any:
            proxy.is_swallowing = True
            try:
                return await publish(self, *words)
            finally:
                proxy.is_swallowing = False

        with monkeypatch.context() as patched:
            patched.setattr(CommentStore, "publish", losing)
            assert (await post(site))["errno"] == 503
        answer = await post(site)
        assert answer["errno"] == 0
        (listed,) = (await site.page())["data"]
        assert answer["data"]["objectId"] == listed["objectId"]
        await sites.close()
        await store.redis.close()

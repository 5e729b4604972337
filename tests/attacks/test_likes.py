"""Likes: what they cost somebody who gives hundreds, and what they cost everybody else."""

import asyncio
from typing import Any

import pytest

from tests.conftest import ADMIN, BOB, EVE, Site, Sites

STRANGER = "203.0.113.9"


async def version(site: Site, path: str = "/p") -> int:
    return await site.store.comments.version(path)


@pytest.mark.usefixtures("no_allowance")
async def test_likes_by_the_hundred_run_out_of_tokens(make_site: Sites) -> None:
    """Who: one address. What: likes and takes back its likes as fast as it can, since each makes
    cached pages stale for everybody. Instead: likes take tokens like views, from the same bucket;
    beyond the limit they are 429, and the page stays as it is."""
    site = await make_site(STRANGER, COUNTER_RATE="0.01")
    id = (await site.post("hello"))["objectId"]
    answers = []
    for _ in range(5):
        answers += await asyncio.gather(
            *(site.http.put(f"/api/comment/{id}", json={"like": True}) for _ in range(46))
        )
    refused = [answer for answer in answers if answer.status_code == 429]
    assert len(refused) == 30
    assert refused[0].json() == {"errno": 429, "errmsg": "Too Many Requests"}
    assert 0 < int(refused[0].headers["retry-after"]) <= 100
    before = await version(site)
    for body in ({"like": True}, {"like": False}):
        assert (await site.http.put(f"/comment/{id}", json=body)).status_code == 429
    assert await version(site) == before
    assert (await site.page())["data"][0]["like"] == 200
    # The same bucket.
    assert (await site.http.post("/article", json={"path": "/a"})).status_code == 429


@pytest.mark.usefixtures("no_allowance")
async def test_a_like_of_no_comment_takes_as_many_tokens_as_any_other(make_site: Sites) -> None:
    """Who: one address without an id. What: likes random ids, to find comments or to keep Redis
    busy. Instead: whatever looks like an id takes tokens before it is looked up, so that a 429
    tells nothing; what cannot be an id never reaches Redis."""
    site = await make_site(STRANGER, COUNTER_RATE="0.01")
    for n in range(200):
        answer = await site.send("PUT", f"/comment/{n:032}", {"like": True})
        assert answer["data"] == ""
    id = (await site.post("hello"))["objectId"]
    for target in (id, "0" * 32):
        assert (await site.http.put(f"/comment/{target}", json={"like": True})).status_code == 429
    for target in ("1", "undefined", "x" * 500):
        assert (await site.send("PUT", f"/comment/{target}", {"like": True}))["data"] == ""


@pytest.mark.usefixtures("no_allowance")
async def test_a_proxy_pays_for_those_who_like_behind_it(make_site: Sites) -> None:
    """Who: a stranger behind the site's proxy. What: likes through it, whose own address is exempt.
    Instead: the address that the proxy names takes tokens, as for views; the proxy itself does not.
    """
    site = await make_site(COUNTER_RATE="0.01")
    id = (await site.post("hello"))["objectId"]

    async def like(**headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        target = f"/api/comment/{id}"
        return (await site.http.put(target, json={"like": True}, headers=named)).status_code

    named = [await like(x_forwarded_for=STRANGER) for _ in range(201)]
    assert (named.count(200), named[-1]) == (200, 429)
    assert [await like() for _ in range(3)] == [200] * 3


async def test_a_like_shows_no_words_that_are_held(make_site: Sites) -> None:
    """Who: somebody who has the id of a held comment, from before it was held or from its author.
    What: likes it, to read it in the answer. Instead: the answer is byte for byte that for a
    comment that does not exist, and nothing changes; only its author's account and administrators
    see it."""
    site = await make_site(COMMENT_AUDIT="true")
    id = (await site.post("a secret", by=BOB))["objectId"]
    before = await version(site)

    async def like(target: str, by: Any) -> Any:
        headers = {"authorization": f"Bearer {by.id}"} if by else {}
        answers = [
            await site.http.put(f"{path}/comment/{target}", json={"like": up}, headers=headers)
            for path in ("/api", "")
            for up in (True, False)
        ]
        return [(each.status_code, each.headers.items(), each.content) for each in answers]

    for stranger in (None, EVE):
        assert await like(id, stranger) == await like("0" * 16 + id[16:], stranger)
    assert await version(site) == before
    for seer in (BOB, ADMIN):
        answer = await site.send("PUT", f"/comment/{id}", {"like": True}, by=seer)
        assert (answer["data"]["orig"], answer["data"]["status"]) == ("a secret", "waiting")

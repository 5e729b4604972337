"""What watchers of pages are told, without HTTP."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import aclosing
from functools import partial
from typing import Any

import pytest

from footfall.comments.api.live import number_of
from footfall.comments.rules import live
from footfall.comments.rules.live import LivePages, Seen
from footfall.limits.clients import BACKGROUND, PoolClient, known_client
from footfall.limits.pool import Place, Shares
from tests.conftest import ADMIN, Site, Sites

ON = ("fake",)


@pytest.fixture
async def pages(site: Site, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LivePages]:
    monkeypatch.setattr(live, "PERIOD_SECONDS", 0.01)
    yield site.service.comments.live_pages
    site.service.process.draining.set()
    await site.settled()


HERE = Place(BACKGROUND, 1)


async def nothing(path: str, version: int) -> int:
    return 0


async def test_who_comes_as_another_leaves_has_no_second_reader(
    pages: LivePages, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, start = list[Coroutine[Any, Any, None]](), pages._start

    def noted(work: Coroutine[Any, Any, None]) -> None:
        started.append(work)
        start(work)

    monkeypatch.setattr(pages, "_start", noted)
    for _ in range(3):
        watcher = pages.watch("/a", nothing, HERE)
        assert await anext(watcher) == (0, 0)
        await watcher.aclose()
    assert len(started) == 1


async def test_a_damaged_page_spoils_no_other(pages: LivePages, site: Site) -> None:
    key_of = site.store.keys.counts
    key = key_of("time /a")
    # Two pages may share a hash, by chance.
    other = next(page for page in ("/b", "/c", "/d", "/e", "/f") if key_of(f"time {page}") != key)
    ann, ben = pages.watch("/a", nothing, HERE), pages.watch(other, nothing, HERE)
    assert (await anext(ann), await anext(ben)) == ((0, 0), (0, 0))
    await site.store.redis.change(("DEL", key), ("SET", key, "damaged"))
    await site.count(other)
    assert await anext(ben) == (1, 0)
    await ann.aclose()
    await ben.aclose()


async def test_who_has_most_streams_gives_one_to_a_newcomer(pages: LivePages) -> None:
    streams = Shares(capacity=8, each=8)
    eve, bob = (known_client(name) for name in ("eve", "bob"))

    async def watch(path: str, client: PoolClient) -> AsyncGenerator[Seen | None]:
        with streams.room(client) as place:
            async with aclosing(pages.watch(path, nothing, place)) as watched:
                async for seen in watched:
                    yield seen

    eves = [watch("/a", eve) for _ in range(8)]
    assert [await anext(each) for each in eves] == [(0, 0)] * 8
    bobs = watch("/a", bob)
    assert await anext(bobs) == (0, 0)
    # The newest of hers ends, and goes on elsewhere; the others stay.
    async with asyncio.timeout(60):
        with pytest.raises(StopAsyncIteration):
            await anext(eves[-1])
    for each in (*eves, bobs):
        await each.aclose()
    assert (streams.taken, pages._pages) == (0, {})


async def number(watcher: AsyncIterator[Seen | None]) -> int:
    seen = await anext(watcher)
    assert seen
    return seen.comments


async def test_watchers_learn_nothing_of_what_nobody_may_read(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither that a comment waits, nor when it came, nor that it was removed."""
    monkeypatch.setattr(live, "PERIOD_SECONDS", 0.01)
    site = await make_site(COMMENT_AUDIT="true")
    comments = site.service.comments
    watcher = comments.live_pages.watch("/p", partial(number_of, comments), HERE)
    numbers = [await number(watcher)]
    for then in ({"status": "approved"}, {"sticky": True}, {"status": "spam"}):
        held = await site.post("held")
        await site.count("/p")
        numbers.append(await number(watcher))
        assert numbers[-1] == numbers[-2]
        shown = await site.post(f"shown, {then}")
        await site.send("PUT", f"/comment/{shown['objectId']}", {"status": "approved"}, by=ADMIN)
        numbers.append(await number(watcher))
        await site.send("DELETE", f"/comment/{held['objectId']}", by=ADMIN)
        await site.send("PUT", f"/comment/{shown['objectId']}", then, by=ADMIN)
        if then != {"status": "approved"}:
            numbers.append(await number(watcher))
        site.clock.now += 3_600_000
    # None is a time in ms.
    assert max(numbers) < 2**48
    site.service.process.draining.set()
    await watcher.aclose()
    await site.settled()

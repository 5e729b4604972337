"""`footfall check` while comments come, change, go and come back: it finds nothing wrong, and a
repair loses nothing."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from random import Random
from typing import Any

import pytest

from footfall.comments.store import deleted, deletions
from footfall.ids import split
from tests.conftest import ADMIN, BOB, Site, Sites
from tests.support.backups import report

ON = ("valkey", "cluster")

PAGES = ("/0", "/1")
# Until what was deleted is removed.
LONG_MS = 70_000


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was deleted is hidden and removed in many steps."""
    monkeypatch.setattr(deletions, "STEP_REPLIES", 3)
    monkeypatch.setattr(deleted, "STEP_REMOVED", 2)


async def thread(site: Site, url: str, texts: Iterator[int]) -> list[Any]:
    """A root, replies to it, and replies to these."""
    root = await site.post(f"{next(texts)}", url=url, mail="ann@example.com")
    above, found = root, [root]
    for _ in range(5):
        above = await site.reply(above, f"{next(texts)}", url=url, by=BOB)
        found.append(above)
    return found


async def moderate(site: Site, found: list[Any], chance: Random) -> None:
    for each in chance.sample(found, 3):
        target = f"/comment/{each['objectId']}"
        status = chance.choice(("waiting", "approved", "spam"))
        await site.send("PUT", target, {"status": status}, by=ADMIN)
        await site.send("PUT", target, {"like": True}, by=ADMIN)
    pinned = f"/comment/{found[0]['objectId']}"
    await site.send("PUT", pinned, {"sticky": chance.randrange(2)}, by=ADMIN)
    await site.send("PUT", pinned, {"comment": f"{chance.random()}"}, by=ADMIN)


async def delete(site: Site, found: list[Any], chance: Random) -> None:
    """Delete replies and then the root, and take back some of that."""
    undo = list[str]()
    for each in (*chance.sample(found[1:], 2), found[0]):
        answer = await site.send("DELETE", "/comment", {"ids": [each["objectId"]]}, by=ADMIN)
        undo.append(answer["data"]["undo"])
    for name in filter(None, reversed(undo)):
        if chance.random() < 0.5:
            await site.send("PUT", "/api/comment", {"undo": name}, by=ADMIN)


async def play(site: Site, seed: int, is_over: asyncio.Event) -> None:
    chance, texts = Random(seed), count(seed * 1_000_000)
    while not is_over.is_set():
        found = await thread(site, PAGES[next(texts) % 2], texts)
        await moderate(site, found, chance)
        await delete(site, found, chance)


async def sweep(site: Site, is_over: asyncio.Event) -> None:
    """As if the time to undo was over at once."""
    while not is_over.is_set():
        await site.service.comments.journal.catch_up()
        await site.service.comments.deletions.sweep_due(site.clock() + LONG_MS)
        await asyncio.sleep(0)


@asynccontextmanager
async def storm(site: Site) -> AsyncIterator[None]:
    is_over = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for n in (1, 2, 3):
            group.create_task(play(site, n, is_over))
        group.create_task(sweep(site, is_over))
        yield
        is_over.set()


async def quiet(site: Site) -> None:
    """All that was started has come to its end."""
    await site.settled()
    site.clock.now += LONG_MS
    await site.kept_up()


@pytest.mark.rare
async def test_a_check_during_a_storm_finds_nothing(make_site: Sites) -> None:
    site = await make_site()
    await thread(site, PAGES[0], count())
    async with storm(site):
        for _ in range(4):
            *problems, summary = await report(site.store)
            assert problems == [], summary
    await quiet(site)
    *problems, summary = await report(site.store)
    assert problems == [], summary


@pytest.mark.rare
@pytest.mark.cluster
async def test_a_repair_during_a_storm_repairs_what_was_damaged_and_nothing_else(
    make_site: Sites,
) -> None:
    site = await make_site()
    store = site.store
    (root, *replies) = await thread(site, PAGES[0], count())
    short, page = split(root["objectId"])
    async with storm(site):
        await store.redis.change(
            ("ZREM", store.keys.page(page, "newest"), short),
            ("ZADD", store.keys.page(page, "replies"), 0, f"{short}:{short}"),
            ("ZREM", store.keys.site("recent"), replies[0]["objectId"]),
            ("ZADD", store.keys.site("spam"), 1, replies[1]["objectId"]),
        )
        *problems, summary = await report(store, repair=True)
        assert len(problems) == 4, problems
        assert all(problem.endswith("(repaired)") for problem in problems), problems
        assert (await report(store))[:-1] == []
    await quiet(site)
    assert (await report(store))[:-1] == []

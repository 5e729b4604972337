"""Reads go on while Redis rejects changes, and beside changes that it rejects."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import pytest

from footfall.data.store import Store
from footfall.driver.client import connect
from footfall.errors import StoreUnavailable
from tests.conftest import Site, Sites
from tests.support.servers import RealServer
from tests.support.states import demoted

from .test_failures import server as server

READS = (
    "/api/article?path=/p",
    "/api/comment?path=/p",
    "/api/comment?type=count&url=/p",
    "/api/comment?type=recent",
    "/api/comment/rss?path=/p",
    "/api/statistics?path=/p",
)
CHANGES = (
    ("/api/article", {"path": "/p"}),
    ("/api/comment", {"url": "/p", "comment": "x", "nick": "Ann"}),
    ("/api/token", {"email": "a@example.com", "password": "a guess"}),
)
# Answers to each kind of read that a state lasts for.
ENOUGH = 150


@contextmanager
def configured(server: RealServer, name: str, value: int) -> Iterator[None]:
    with server.admin() as admin:
        admin.config_set(name, value)
        yield
        admin.config_set(name, 0)


@pytest.fixture
async def store(server: RealServer) -> AsyncIterator[Store]:
    store = Store(connect(server.url, timeout=5), prefix="t", buckets=1024)
    await store.create()
    yield store
    await store.redis.close()


STATES: dict[str, Callable[[RealServer], AbstractContextManager[None]]] = {
    "read-only": demoted,
    "alone": partial(configured, name="min-replicas-to-write", value=1),
    "full": partial(configured, name="maxmemory", value=1),
}


@pytest.mark.parametrize("state", STATES)
async def test_every_read_is_answered_beside_changes_that_are_rejected(
    make_site: Sites, server: RealServer, state: str
) -> None:
    site = await make_site(STATISTICS_PUBLIC="all", IPQPS="0", COMMENT_LIMIT="0")
    await site.post("hello", path="/p")
    asked = Counter[str]()
    statuses = Counter[tuple[str, int]]()
    with STATES[state](server):
        await asyncio.gather(
            *(read(site, path, asked, statuses) for path in READS for _ in range(4)),
            *(change(site, each, asked, statuses) for each in CHANGES for _ in range(4)),
        )
    assert {each: n for each, n in statuses.items() if each[0] in READS and each[1] != 200} == {}
    assert not {status for _, status in statuses} - {200, 503}
    assert (CHANGES[0][0], 503) in statuses
    async with asyncio.timeout(60):
        while (await site.http.post("/api/article", json={"path": "/p"})).status_code != 200:
            await asyncio.sleep(0)


async def read(
    site: Site, path: str, asked: Counter[str], statuses: Counter[tuple[str, int]]
) -> None:
    while asked[path] < ENOUGH:
        asked[path] += 1
        statuses[path, (await site.http.get(path)).status_code] += 1


async def change(
    site: Site,
    what: tuple[str, dict[str, str]],
    asked: Counter[str],
    statuses: Counter[tuple[str, int]],
) -> None:
    path, body = what
    while min(asked[each] for each in READS) < ENOUGH:
        answer = await site.http.post(path, json=body)
        statuses[path, answer.status_code] += 1


async def test_a_store_that_closes_amid_that_leaves_nobody_waiting(
    store: Store, server: RealServer
) -> None:
    await store.counters.add([("/p", "time", 1)])
    with demoted(server):
        wanted = [store.counters.read(["time /p"]) for _ in range(20)]
        asked = [asyncio.ensure_future(each) for each in wanted]
        asked.append(asyncio.ensure_future(store.counters.add([("/p", "time", 1)])))
        for _ in range(3):
            await asyncio.sleep(0)
            asked.append(asyncio.ensure_future(store.counters.read(["time /q"])))
        await store.redis.close()
        async with asyncio.timeout(60):
            found = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(each, list | StoreUnavailable) for each in found)

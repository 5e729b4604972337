"""Two sites in one process, on one Redis: nothing that belongs to one of them reaches the other."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import httpx
import pytest

from footfall.app import create_site
from footfall.asgi import create_app, create_metrics
from footfall.config import Settings
from footfall.data.store import Store
from footfall.errors import StoreUnavailable
from footfall.process.process import Process
from footfall.site import Site
from footfall.stores import open_process, open_store
from tests.support.servers import RealServer

# The first is open to everybody; the second differs in whatever a site may decide.
OPEN = {"IPQPS": "0", "COUNTER_RATE": "0", "NEW_COUNTER_RATE": "0"}
STRICT = {
    "IPQPS": "60",
    "COUNTER_RATE": "0.001",
    "COMMENT_AUDIT": "true",
    "FORBIDDEN_WORDS": "casino",
    "DISABLE_IMAGES": "true",
    "REGISTRATION": "closed",
    "JWT_TOKEN": "another secret of thirty-two letters",
}
_numbers = count()
PICTURE = "![a cat](https://cats.example/cat.png)"


@dataclass
class Served:
    site: Site
    store: Store
    http: httpx.AsyncClient

    async def count(self, path: str = "/p") -> int:
        return int((await self.http.post("/article", json={"path": path})).json())

    async def comment(self, text: str) -> Any:
        draft = {"comment": text, "url": "/p", "nick": "Ann"}
        return (await self.http.post("/api/comment", json=draft)).json()

    async def page(self) -> Any:
        return (await self.http.get("/api/comment", params={"path": "/p"})).json()["data"]

    async def register(self) -> Any:
        account = {"display_name": "Ann", "email": "ann@example.com", "password": "blue teapot 9"}
        return (await self.http.post("/api/user", json=account)).json()

    async def log_in(self) -> Any:
        words = {"email": "ann@example.com", "password": "blue teapot 9"}
        return (await self.http.post("/api/token", json=words)).json()


async def served(process: Process, environ: dict[str, str], prefix: str) -> Served:
    settings = Settings.from_env({**environ, "KEY_PREFIX": prefix})
    store = open_store(settings, process)
    await store.create()
    site = create_site(settings, process, store)
    transport = httpx.ASGITransport(create_app(settings, site), client=("192.0.2.7", 1))
    client = httpx.AsyncClient(transport=transport, base_url="http://site.test")
    return Served(site, store, client)


@pytest.fixture
async def both(servers: dict[str, RealServer]) -> AsyncIterator[tuple[Served, Served]]:
    url, number = servers["valkey"].url, next(_numbers)
    process = open_process(Settings.from_env({"REDIS_TIMEOUT": "60"}), url, create_metrics())
    one = await served(process, OPEN, f"one{number}")
    two = await served(process, STRICT, f"two{number}")
    yield one, two
    await process.background.finished()
    for each in (one, two):
        await each.http.aclose()
    await process.close()


async def test_they_count_apart(both: tuple[Served, Served]) -> None:
    one, two = both
    assert [await one.count() for _ in range(3)] == [1, 2, 3]
    assert [await two.count() for _ in range(2)] == [1, 2]
    assert (await one.http.get("/article", params={"path": "/p"})).json() == 3


async def test_a_visitor_without_tokens_at_one_counts_at_the_other(
    both: tuple[Served, Served],
) -> None:
    one, two = both
    many = [{"path": "/p"}] * 200
    while (await two.http.post("/api/article", json=many)).json()["errno"] == 0:
        pass
    answer = await one.http.post("/api/article", json=many)
    assert answer.json()["data"][-1] == {"time": 200}


async def test_each_has_comments_and_rules_of_its_own(
    both: tuple[Served, Served], servers: dict[str, RealServer]
) -> None:
    one, two = both
    assert (await one.comment(f"said at one {PICTURE} casino"))["data"]["status"] == "approved"
    assert (await two.comment(f"said at two {PICTURE}"))["data"]["status"] == "waiting"
    assert (await two.comment("at once again"))["errno"] != 0
    assert (await one.comment("at once again, too"))["errno"] == 0
    assert [(await each.page())["count"] for each in both] == [2, 0]
    await one.http.get("/api/comment", params={"path": "/p", "sortBy": "insertedAt_asc"})
    oldest = (await one.page())["data"][-1]["comment"]
    assert "cat.png" in oldest
    # The page cache of one has nothing of the other.
    assert (await two.page())["data"] == []
    with servers["valkey"].admin() as admin:
        (key,) = admin.keys(f"{two.store.keys.prefix}:{{p:*}}:bodies")
        (held,) = admin.hvals(key)
    assert b"cat.png" not in held.partition(b'"orig"')[0]


async def test_an_account_and_a_log_in_are_known_at_one(both: tuple[Served, Served]) -> None:
    one, two = both
    assert (await one.register())["errno"] == 0
    assert (await two.register())["errno"] != 0
    token = (await one.log_in())["data"]["token"]
    assert (await two.log_in())["errno"] != 0
    bearer = {"authorization": f"Bearer {token}"}
    shown = [(await each.http.get("/api/token", headers=bearer)).json()["data"] for each in both]
    assert [bool(each) for each in shown] == [True, False]


async def test_no_key_is_outside_of_the_two(
    both: tuple[Served, Served], servers: dict[str, RealServer]
) -> None:
    one, two = both
    with servers["valkey"].admin() as admin:
        before = set(admin.keys("*"))
    for each in both:
        await each.count()
        await each.comment("words")
    await one.register()
    await one.site.process.background.finished()
    with servers["valkey"].admin() as admin:
        found = set(admin.keys("*")) - before
    prefixes = {each.store.keys.prefix.encode() for each in both}
    assert {key.partition(b":")[0] for key in found} == prefixes


async def test_a_lost_data_set_of_one_is_seen_though_the_other_is_there(
    both: tuple[Served, Served], servers: dict[str, RealServer]
) -> None:
    one, two = both
    with servers["valkey"].admin() as admin:
        admin.delete(two.store.keys.site("format"))
    await one.store.redis.check_data_set_ids()
    assert two.store.keys.site("format") in one.store.redis.data_set_ids.problem
    with pytest.raises(StoreUnavailable):
        await one.store.counters.read(["time /p"])
    number = await one.site.process.safety.trouble()
    assert "lost its data" in number

"""How much is stored is reported exactly, quickly and in bounds, and never delays a start."""

import asyncio
import re
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis

from footfall.comments.store.indexes import HASHES, INDEXES, STRINGS
from footfall.data import size
from footfall.data.size import Kind, Size
from footfall.data.store import Store
from footfall.driver.client import RedisClient, connect
from tests.conftest import EVERYWHERE, Site, Sites
from tests.support.servers import program_of, running
from tests.support.serving import Serving, serving


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The names of the commands of every round trip."""
    trips: list[list[str]] = []
    ask = RedisClient.ask

    async def counting(redis: RedisClient, *commands: Sequence[object]) -> list[Any]:
        trips.append([str(command[0]) for command in commands])
        return await ask(redis, *commands)

    monkeypatch.setattr(RedisClient, "ask", counting)
    return trips


async def count(store: Store, paths: Sequence[str]) -> None:
    for first in range(0, len(paths), 1_000):
        await store.counters.add([(path, "time", 1) for path in paths[first : first + 1_000]])


async def bytes_of(store: Store, pattern: str) -> int:
    """The memory of all keys of a pattern, measured to their last entry."""
    client = store.redis.client
    total = 0
    async for key in client.scan_iter(match=pattern, count=1_000):
        total += await client.memory_usage(key, samples=0)
    return total


async def test_an_empty_data_set_holds_nothing(store: Store) -> None:
    assert await store.scale.weigh() == Size(Kind(0, 0), Kind(0, 0))
    assert str(store.scale.reading) == "nothing yet"


@pytest.mark.parametrize("kind", EVERYWHERE)
async def test_a_small_data_set_is_counted_and_measured_to_the_byte(
    make_site: Sites, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other tests' keys on the same server are many: the sample's steps would end among them.
    monkeypatch.setattr(size, "MAX_SCANS", sys.maxsize)
    # Without the lists of held comments of accounts, which cannot be found by name.
    site = await make_site(FORBIDDEN_WORDS="casino")
    await count(store, [f"/{n}" for n in range(60)])
    await site.count("/0", type="reaction1")
    for n in range(20):
        root = await site.post(f"root {n}{' casino' * (n % 5 == 0)}", url=f"/{n % 7}")
        if n % 3 == 1:
            await site.reply(root, f"reply {n}", url=f"/{n % 7}")
    found = await store.scale.weigh()
    keys = store.keys
    counters = await bytes_of(store, keys.every_counter_key.replace("[cl]*", "counts*"))
    comments = await bytes_of(store, keys.every_page.replace(":path", ":*"))
    assert found is not None
    assert (found.counters.number, found.comments.number) == (61, 27)
    assert found.counters.bytes_each == pytest.approx(counters / 61)
    assert found.comments.bytes_each == pytest.approx(comments / 27)


async def test_beyond_the_sample_the_number_of_comments_is_exact_and_the_bytes_are_near(
    site: Site, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(size, "MAX_WEIGHED_PAGES", 5)
    for n in range(30):
        await site.post(f"comment {n:02}", url=f"/{n % 15}")
    found = await store.scale.weigh()
    assert found is not None
    each = await bytes_of(store, store.keys.every_page.replace(":path", ":*")) / 30
    assert found.comments.number == 30
    assert abs(found.comments.bytes_each / each - 1) < 0.1


@pytest.mark.rare
async def test_a_larger_data_set_takes_no_more_commands(
    site: Site, store: Store, asked: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(size, "MAX_WEIGHED_PAGES", 4)
    monkeypatch.setattr(size, "MAX_SAMPLED_HASHES", 4)

    async def commands() -> Counter[str]:
        asked.clear()
        await store.scale.weigh()
        assert len(asked) < 20
        return Counter(name for trip in asked for name in trip)

    await count(store, [f"/{n}" for n in range(5_000)])
    for n in range(8):
        await site.post(str(n), url=f"/{n}")
    before = await commands()
    assert before["HLEN"] == 4 + 4
    assert before["MEMORY"] == 4 + 4 * len((*STRINGS, *HASHES, *INDEXES))
    await count(store, [f"/more/{n}" for n in range(5_000)])
    for n in range(20):
        await site.post(f"more {n}", url=f"/more/{n}")
    assert await commands() == before


async def test_the_longest_page_is_not_read_to_its_end(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(size, "SAMPLED_ENTRIES", 100)
    page = store.keys.page
    fields = {f"{n:016}": "x" * 300 for n in range(5_000)}
    await store.redis.client.hset(page("long", "bodies"), mapping=fields)
    await store.redis.client.hset(store.keys.site("totals"), "long", "5000 5000")
    await store.redis.client.set(store.keys.site("total"), 5_000)
    found = await store.scale.weigh()
    assert found is not None
    each = await bytes_of(store, page("long", "*")) / 5_000
    assert found.comments.number == 5_000
    assert abs(found.comments.bytes_each / each - 1) < 0.1


async def test_what_is_stored_is_read_once_a_minute(
    site: Site, asked: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.count("/a")
    await asyncio.gather(*(site.http.get("/metrics") for _ in range(5)))
    response = await site.http.get("/metrics")
    assert "footfall_counters 1.0" in response.text
    assert sum("HRANDFIELD" in trip for trip in asked) == 1
    await site.count("/b")
    monkeypatch.setattr(size, "FRESH_SECONDS", 0)
    assert "footfall_counters 2.0" in (await site.http.get("/metrics")).text
    assert sum("HRANDFIELD" in trip for trip in asked) == 2


async def test_the_first_counter_is_seen_a_second_later(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "footfall_counters 0.0" in (await site.http.get("/metrics")).text
    await site.count("/a")
    monkeypatch.setattr(size, "FRESH_EMPTY_SECONDS", 0)
    assert "footfall_counters 1.0" in (await site.http.get("/metrics")).text


@pytest.mark.parametrize("harm", [signal.SIGKILL, signal.SIGSTOP])
async def test_with_redis_gone_or_frozen_a_scrape_is_answered_without_what_is_stored(
    kind: str, own: Path, harm: signal.Signals
) -> None:
    with running(program_of(kind), own) as server:
        store = Store(connect(server.url, 0.5), prefix="t", buckets=1024)
        await store.create()
        site = await Sites(store)()
        server.signal(harm)
        async with asyncio.timeout(60):
            response = await site.http.get("/metrics")
        assert response.status_code == 200
        assert "footfall_batch_requests_count" in response.text
        assert "footfall_counters" not in response.text
        await store.redis.close()


def held(served: Serving) -> str:
    """Stop the service; returns what its banner says is stored, empty if it does not say."""
    code, output = served.end()
    lines = output.splitlines()
    assert (code, lines[-1]) == (0, "Footfall has stopped")
    return next((line[9:] for line in lines if line.startswith("  holds  ")), "")


@pytest.mark.rare
def test_the_banner_says_what_is_stored(kind: str, own: Path) -> None:
    with serving(own, REDIS_SERVER=program_of(kind)) as served:
        assert httpx.post(f"{served.url}/article", json={"path": "/a"}).json() == 1
        assert held(served) == "nothing yet"
        served.start()
        draft = {"comment": "hello", "url": "/a", "nick": "Ann"}
        assert httpx.post(f"{served.url}/api/comment", json=draft).json()["errno"] == 0
        assert re.fullmatch(r"1 counter, about \d+ bytes each", held(served))
        served.options = ("--workers", "2")
        served.start()
        stored = r"1 counter, about \d+ bytes each; 1 comment, about [\d,]+ bytes each"
        assert re.fullmatch(stored, held(served))


def test_without_the_right_to_measure_memory_the_service_starts_and_does_not_say(
    kind: str, own: Path
) -> None:
    with running(program_of(kind), own / "r") as server:
        with Redis(unix_socket_path=str(server.socket)) as client:
            meek = ("meek", "on", ">secret", "~*", "+@all", "-memory")
            client.execute_command("ACL", "SETUSER", *meek)
        with serving(own / "s", REDIS_URL=server.url) as served:
            assert httpx.post(f"{served.url}/article", json={"path": "/a"}).json() == 1
        url = f"unix://meek:secret@{server.socket}"
        with serving(own / "s", REDIS_URL=url) as served:
            assert httpx.get(f"{served.url}/article?path=/a").json() == 1
            scraped = httpx.get(f"{served.url}/metrics")
            assert (scraped.status_code, "footfall_counters " in scraped.text) == (200, False)
            assert held(served) == ""

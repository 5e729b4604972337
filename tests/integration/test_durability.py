"""A change is acknowledged when it is as safe as configured, and a Redis that cannot do that is
refused.

Whether a disk keeps what it was told to flush is not tested.
"""

import asyncio
import http.client
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from footfall.callbacks import fulfil
from footfall.data.store import Rate, Store
from footfall.driver.client import connect
from footfall.driver.facts import find
from footfall.driver.safety import Unsafe
from footfall.errors import StoreUnavailable
from footfall.ids import IdGenerator, created_ms, digest
from footfall.limits.buckets import Bucket
from footfall.model import FSYNC, PUBLIC, Comment, Durability
from tests.support.servers import RealServer, free_port, program_of, running, wait_until
from tests.support.serving import serving
from tests.support.sites import safety_of

NOW = 1_700_000_000_000


@pytest.fixture
def pair(kind: str, own: Path) -> Iterator[list[RealServer]]:
    """A master and its replica."""
    port = free_port()
    with ExitStack() as stack:

        def start(name: str, *options: str) -> RealServer:
            server = running(program_of(kind), own / name, "--bind", "127.0.0.1", *options)
            return stack.enter_context(server)

        master = start("m", "--port", str(port), "--repl-diskless-sync-delay", "0")
        replica = start("r", "--port", "0", "--replicaof", "127.0.0.1", str(port))
        with replica.admin() as client:
            wait_until(
                lambda: client.info("replication")["master_link_status"] == "up", "a replica"
            )
        yield [master, replica]
        # If both were told to stop, they would wait for each other.
        master.kill()
        replica.kill()


def store_on(server: RealServer, durability: Durability, timeout: float = 2.0) -> Store:
    redis = connect(server.url, timeout=timeout, durability=durability)
    store = Store(redis, prefix="t", buckets=256)
    safety_of(store, durability)
    return store


def settings_of(server: RealServer, **settings: str) -> None:
    with server.admin() as client:
        for name, value in settings.items():
            client.config_set(name.replace("_", "-"), value)


def commands_of(server: RealServer, name: str) -> int:
    with server.admin() as client:
        calls = client.info("commandstats").get(f"cmdstat_{name}", {"calls": 0})
        return int(calls["calls"])


async def test_a_change_is_acknowledged_when_a_replica_has_it(pair: list[RealServer]) -> None:
    master, replica = pair
    store = store_on(master, Durability("replica", 1))
    await safety_of(store).check()
    safety_of(store).refuse()
    await store.create()
    counts = await asyncio.gather(*(store.counters.add([("/a", "time", 1)]) for _ in range(100)))
    assert sorted(count for (count,) in counts) == list(range(1, 101))
    with replica.admin() as client:
        assert client.hget(store.keys.counts("time /a"), "time /a") == b"100"
    assert commands_of(master, "wait") < 20, "one wait serves a whole batch"
    await store.redis.close()


async def test_without_replicas_a_change_is_not_acknowledged_and_reads_go_on(
    pair: list[RealServer],
) -> None:
    master, replica = pair
    store = store_on(master, Durability("replica", 1))
    await store.create()
    replica.signal(signal.SIGSTOP)
    change = asyncio.create_task(store.counters.add([("/a", "time", 1)]))
    assert await store.counters.read(["time /b"]) == [0]
    assert not change.done()
    behind = asyncio.create_task(store.counters.add([("/a", "time", 1)]))
    for refused in (change, behind):
        with pytest.raises(StoreUnavailable) as caught:
            await refused
        assert "not confirmed in time" in str(caught.value.__cause__)
    replica.signal(signal.SIGCONT)
    # It was made all the same, and nobody was told that it was not.
    assert await store.counters.add([("/a", "time", 1)]) == [3]
    await store.redis.close()


async def test_acknowledged_changes_wait_and_tokens_do_not(pair: list[RealServer]) -> None:
    master, replica = pair
    # Changes wait for the replica for longer than a busy machine takes for the rest.
    store = store_on(master, Durability("replica", 1), timeout=60)
    await store.create()
    replica.signal(signal.SIGSTOP)
    waits = commands_of(master, "wait")
    count = asyncio.create_task(store.counters.add([("/a", "time", 1)]))
    stored = asyncio.create_task(store.comments.publish(comment("/p"), "approved", ""))
    async with asyncio.timeout(60):
        assert await spend(store) == [0]
    assert not count.done()
    assert not stored.done()
    assert commands_of(master, "wait") - waits <= 2
    replica.signal(signal.SIGCONT)
    assert await count == [1]
    await stored
    await store.background.finished()
    await store.redis.close()


@pytest.mark.rare
async def test_the_site_follows_at_once_and_the_journal_is_cut_when_that_is_durable(
    pair: list[RealServer],
) -> None:
    master, replica = pair
    # One waits for longer than a busy machine takes, the other is refused soon.
    store, hasty = (store_on(master, Durability("replica", 1), timeout=each) for each in (30, 1))
    await store.create()
    await hasty.open()
    await store.comments.publish(comment("/p"), "approved", "")
    # The answer has not waited for the replica to have what the site made of it.
    assert await store.site.total(PUBLIC) == 1
    await store.background.finished()
    assert [page async for page in store.journal.pages()] == []
    replica.signal(signal.SIGSTOP)
    with pytest.raises(StoreUnavailable):
        await hasty.comments.publish(comment("/p"), "approved", "")
    with pytest.raises(StoreUnavailable):
        # What is not confirmed to be durable must not be followed: it may be taken back.
        await hasty.journal.follow(digest("/p"))
    assert await store.site.total(PUBLIC) == 1
    replica.signal(signal.SIGCONT)
    await store.journal.follow(digest("/p"))
    assert await store.site.total(PUBLIC) == 2
    await hasty.redis.close()
    await store.redis.close()


async def spend(store: Store) -> list[int]:
    future: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
    store.buckets.take([Bucket("address", Rate(1, 1))], 1, fulfil(future))
    return await future


def comment(path: str) -> Comment:
    id = IdGenerator().new(NOW, path)
    return Comment(id, path, created_ms(id), "", "")


def count_a(url: str) -> tuple[int, bytes]:
    """Count a view of /a, in one piece as the fast path needs it: status and body."""
    host, port = url.removeprefix("http://").split(":")
    body = b'{"path": "/a"}'
    head = b"POST /article HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    with socket.create_connection((host, int(port)), timeout=60) as client:
        client.sendall(b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body))
        answer = http.client.HTTPResponse(client)
        answer.begin()
        return answer.status, answer.read()


@pytest.mark.rare
@pytest.mark.parametrize("options", [(), ("--no-fast-path",)], ids=["fast path", "endpoints"])
def test_changes_over_http_are_answered_when_a_replica_has_them(
    own: Path, pair: list[RealServer], options: tuple[str, ...]
) -> None:
    master, replica = pair
    environ = {"REDIS_URL": master.url, "DURABILITY": "replica:1", "REDIS_TIMEOUT": "2"}
    with serving(own / "s", *options, **environ) as served:
        assert count_a(served.url) == (200, b"1")
        replica.signal(signal.SIGSTOP)
        assert count_a(served.url)[0] == 503
        assert httpx.get(f"{served.url}/article?path=/a").json() == 2
        replica.signal(signal.SIGCONT)


async def test_too_few_replicas_are_found(pair: list[RealServer]) -> None:
    store = store_on(pair[0], Durability("replica", 2))
    await safety_of(store).check()
    with pytest.raises(Unsafe, match="needs 2 replicas, but Redis has 1"):
        safety_of(store).refuse()
    await store.redis.close()


@pytest.mark.rare
async def test_a_replica_itself_is_found(pair: list[RealServer]) -> None:
    store = store_on(pair[1], Durability("everysec"))
    await safety_of(store).check()
    with pytest.raises(Unsafe, match="this is a read-only replica"):
        safety_of(store).refuse()
    await store.redis.close()


@pytest.mark.rare
async def test_the_disk_is_waited_for_where_redis_does_not_wait_by_itself(
    kind: str, pair: list[RealServer]
) -> None:
    master, _ = pair
    store = store_on(master, FSYNC)
    await safety_of(store).check()
    with master.admin() as client:
        release = [int(part) for part in client.info("server")["redis_version"].split(".")[:2]]
    can_wait = release >= [7, 2]
    assert list(safety_of(store).problems) == ([] if can_wait else ["no_wait"])
    if can_wait:
        await store.create()
        before = commands_of(master, "waitaof")
        changes = (store.counters.add([("/a", "time", 1)]) for _ in range(100))
        assert len(await asyncio.gather(*changes)) == 100
        assert 1 <= commands_of(master, "waitaof") - before < 20
    settings_of(master, appendfsync="always")
    await safety_of(store).check()
    assert safety_of(store).problems == {}
    before = commands_of(master, "waitaof")
    await store.counters.add([("/a", "time", 1)])
    assert commands_of(master, "waitaof") == before
    await store.redis.close()


async def test_later_problems_are_logged_and_so_is_their_end(
    pair: list[RealServer], caplog: pytest.LogCaptureFixture
) -> None:
    master, _ = pair
    store = store_on(master, Durability("everysec"))
    await safety_of(store).check()
    settings_of(master, maxmemory_policy="allkeys-lru")
    await safety_of(store).check()
    await safety_of(store).check()
    settings_of(master, maxmemory_policy="noeviction")
    await safety_of(store).check()
    first, second = (record.getMessage() for record in caplog.records)
    assert "maxmemory-policy allkeys-lru" in first
    assert second == f"fixed: {first}"
    await store.redis.close()


async def test_a_server_tells_how_long_it_waited_for_its_disk(pair: list[RealServer]) -> None:
    master, _ = pair
    settings_of(master, appendfsync="always", latency_monitor_threshold="1")
    store = store_on(master, FSYNC)
    async with asyncio.timeout(60):
        facts = None
        while not facts or "flush_ms" not in facts:
            with master.admin() as client:
                client.set("large", bytes(1_000_000))
            (facts,) = (await safety_of(store).facts()).values()
    (problem,) = find(facts, FSYNC, time.time(), timeout=0.0005)
    assert problem.code == "disk_slow"
    await store.redis.close()


def test_an_unsafe_redis_is_refused_unless_a_warning_will_do(
    own: Path, pair: list[RealServer]
) -> None:
    master, _ = pair
    settings_of(master, maxmemory_policy="volatile-ttl", appendonly="no")
    with serving(own / "w", REDIS_URL=master.url, GUARD="warn") as served:
        ready = httpx.get(f"{served.url}/readyz")
        assert ready.status_code == 200
        evicts, no_file, vacancy = ready.json()["warnings"]
        assert vacancy.startswith("there is no administrator yet: ")
        assert "CONFIG SET maxmemory-policy noeviction" in evicts
        assert "CONFIG SET appendonly yes" in no_file
        assert evicts in served.output
        assert no_file in served.output
        served.stop()
        served.environ["GUARD"] = "refuse"
        code, output = served.ask("serve")
        assert code == 1
        assert output.endswith(f"Error: {evicts}\n{no_file}\n")


@pytest.mark.rare
def test_a_level_that_the_private_server_cannot_keep_is_refused(own: Path) -> None:
    with serving(own, DURABILITY="memory") as served:
        assert httpx.get(f"{served.url}/readyz").json()["durability"] == "memory"
        assert httpx.post(f"{served.url}/article", json={"path": "/a"}).json() == 1
        served.stop()
        served.environ["DURABILITY"] = "everysec"
        served.start()
        assert httpx.get(f"{served.url}/article?path=/a").json() == 1
        served.stop()
        served.environ["DURABILITY"] = "replica:1"
        assert served.ask("serve") == (
            1,
            "Error: DURABILITY=replica:1: the private server has no replicas; give a REDIS_URL\n",
        )

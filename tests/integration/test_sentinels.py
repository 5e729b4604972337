"""The master changes: the service finds the new one, counts nothing twice and loses nothing."""

import asyncio
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpx
import pytest

from footfall.data.store import Store
from footfall.driver import credentials
from footfall.driver.client import connect
from footfall.errors import StoreUnavailable
from footfall.model import FSYNC
from tests.conftest import REAL, Site
from tests.support import extent
from tests.support.rotating import takes_the_new_one
from tests.support.sentinels import NAME, Group, group
from tests.support.servers import free_port, program_of
from tests.support.serving import serving
from tests.support.sites import safety_of

PATIENCE = 60.0


@pytest.fixture
def watched(kind: str, own: Path) -> Iterator[Group]:
    with group(program_of(kind), own) as watched:
        yield watched


@pytest.fixture(scope="module", params=extent.servers(REAL, __name__))
def calm(request: pytest.FixtureRequest, home: Path) -> Iterator[Group]:
    """A group that no test damages for long."""
    with (
        tempfile.TemporaryDirectory(dir=home) as name,
        group(program_of(request.param), Path(name)) as calm,
    ):
        yield calm


@pytest.fixture
async def store(watched: Group) -> AsyncIterator[Store]:
    store = Store(connect(watched.url, timeout=1), prefix="t", buckets=256)
    await store.create()
    yield store
    await store.redis.close()


async def trickle(site: Site, is_enough: Callable[[list[int]], bool]) -> list[int]:
    """Count one view after the other until it is enough; returns the counts, 0 for every 503."""
    counts: list[int] = []
    deadline = time.monotonic() + PATIENCE
    while not is_enough(counts):
        assert time.monotonic() < deadline, counts
        answer = await site.count("/a")
        counts.append(answer if isinstance(answer, int) else 0)
        assert isinstance(answer, int) or answer["errno"] == 503
        await asyncio.sleep(0.01)
    return counts


def works(counts: list[int]) -> bool:
    return bool(counts) and counts[-1] > 0


def numbered(counts: list[int]) -> list[int]:
    return [count for count in counts if count]


async def test_with_the_master_killed_requests_are_503_until_another_one_is_chosen(
    site: Site, watched: Group
) -> None:
    before = await trickle(site, lambda counts: len(counts) == 20)
    assert before == list(range(1, 21))
    await asyncio.to_thread(watched.master.wait_for_replica)
    await asyncio.to_thread(watched.master.kill)
    during = await trickle(site, works)
    assert (during[0], during[-1], watched.replica.role()) == (0, 21, "master")
    assert await trickle(site, lambda counts: len(counts) == 20) == list(range(22, 42))
    await site.post("comments go on as well")
    assert (await site.page())["count"] == 1


@pytest.mark.rare
async def test_a_master_that_was_frozen_and_comes_back_is_not_written_to(
    site: Site, watched: Group
) -> None:
    await trickle(site, lambda counts: len(counts) == 20)
    await asyncio.to_thread(watched.master.wait_for_replica)
    watched.master.signal(signal.SIGSTOP)
    during = await trickle(site, works)
    assert (during[0], during[-1], watched.replica.role()) == (0, 21, "master")
    watched.master.signal(signal.SIGCONT)

    def is_in_step(counts: list[int]) -> bool:
        return len(counts) % 20 == 19 and watched.master.is_replica_in_step()

    # The old master still takes itself for the master: a count of its own would repeat a number.
    counts = await trickle(site, is_in_step)
    assert counts == list(range(22, 22 + len(counts)))


@pytest.mark.rare
async def test_a_connection_to_a_master_that_was_demoted_finds_the_new_one(
    site: Site, watched: Group
) -> None:
    assert await site.count("/a") == 1
    with watched.sentinels[0].admin() as admin:
        admin.sentinel_failover("main")
    counts = await trickle(
        site, lambda counts: watched.replica.role() == "master" and works(counts)
    )
    assert numbered(counts)[-1] == numbered(counts)[0] + len(numbered(counts)) - 1


@pytest.mark.rare
async def test_sentinels_that_are_gone_or_frozen_do_not_prevent_asking_the_others(
    calm: Group,
) -> None:
    frozen, *others = calm.sentinels
    ports = [free_port(), frozen.port, *(other.port for other in others)]
    frozen.signal(signal.SIGSTOP)
    for _ in range(2):
        store = Store(connect(calm.url_by(*ports), timeout=1.5), prefix="t", buckets=256)
        await store.create()
        await store.redis.close()
    frozen.signal(signal.SIGCONT)


async def test_an_error_says_whether_the_sentinel_or_the_master_is_missing(calm: Group) -> None:
    for url, words in (
        (calm.url_by(free_port()), "no Sentinel answers: "),
        (calm.url.replace("/main?", "/other?"), "knows a master 'other' that is up: "),
        (calm.url.replace("_password=", "_password=not"), "the Sentinels refuse the password"),
    ):
        store = Store(connect(url, timeout=1.5), prefix="t", buckets=256)
        with pytest.raises(StoreUnavailable) as raised:
            await store.create()
        assert words in str(raised.value.__cause__)
        await store.redis.close()


def test_a_service_and_its_check_reach_their_master_through_sentinels(
    calm: Group, own: Path
) -> None:
    with serving(own / "s", "--workers", "2", REDIS_URL=calm.url) as served:
        assert httpx.post(f"{served.url}/article", json={"path": "/a"}).json() == 1
        code, output = served.ask("check", "--repair")
        assert code == 0, output
        assert output.endswith("0 pages, 0 approved comments, 0 held, 1 counter, 0 problems\n")


@pytest.mark.rare
async def test_each_new_master_is_asked_how_it_flushes(watched: Group) -> None:
    with watched.master.admin() as admin:
        admin.config_set("appendfsync", "always")
        release = [int(part) for part in admin.info("server")["redis_version"].split(".")[:2]]
    store = Store(connect(watched.url, timeout=1, durability=FSYNC), prefix="t", buckets=256)
    safety_of(store, FSYNC)
    await store.create()
    assert await store.counters.add([("/a", "time", 1)]) == [1]
    watched.master.wait_for_replica()
    with watched.master.admin() as admin:
        assert "cmdstat_waitaof" not in admin.info("commandstats")
    await asyncio.to_thread(watched.fail_over)
    # This master flushes once a second, so each acknowledgement has to wait for it.
    counts: list[int] = []
    async with asyncio.timeout(PATIENCE):
        while len(counts) < 2:
            try:
                counts += await store.counters.add([("/a", "time", 1)])
            except StoreUnavailable as error:
                if release < [7, 2] and "unknown command 'WAITAOF'" in str(error.__cause__):
                    break
    with watched.master.admin() as admin:
        waits = admin.info("commandstats").get("cmdstat_waitaof", {"calls": 0})["calls"]
    if release < [7, 2]:
        assert counts == []
    else:
        assert waits >= len(counts) == 2
    await store.redis.close()


@pytest.mark.rare
async def test_new_passwords_of_a_master_and_its_sentinels_are_taken(
    calm: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "FRESH_SECONDS", 0.0)
    hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in calm.sentinels)
    both = [calm.master, *calm.sentinels]
    await takes_the_new_one(
        both,
        lambda password: (
            f"redis+sentinel://rotating:{password}@{hosts}/{NAME}"
            f"?sentinel_username=rotating&sentinel_password={password}"
        ),
    )

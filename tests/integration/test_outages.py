"""Redis goes, and comes back, or comes back with other data: what is reported, and how often."""

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from footfall.data.store import Store
from footfall.driver.client import connect
from footfall.driver.replies import OtherData
from footfall.driver.script_calls import Rate
from footfall.errors import StoreUnavailable
from footfall.limits.buckets import Bucket
from tests.conftest import ADMIN, Sites
from tests.support.sentinels import Group, group
from tests.support.servers import RealServer, program_of, running, wait_until
from tests.support.serving import Serving, serving
from tests.support.sites import safety_of
from tests.support.workers import all_answer


@pytest.fixture
def server(kind: str, own: Path) -> Iterator[RealServer]:
    """A server that a test may damage."""
    with running(program_of(kind), own / "r") as server:
        yield server


def count(served: Serving, path: str = "/a") -> tuple[int, object]:
    answer = httpx.post(f"{served.url}/article", json={"path": path})
    return answer.status_code, answer.json()


def ready(served: Serving) -> tuple[int, list[str]]:
    answer = httpx.get(f"{served.url}/readyz")
    return answer.status_code, answer.json()["reasons"]


def emptied(server: RealServer) -> None:
    """Kill the server, and start it again without its data."""
    server.kill()
    shutil.rmtree(server.home / "appendonlydir", ignore_errors=True)
    (server.home / "appendonly.aof").unlink(missing_ok=True)
    server.start()


def holds(server: RealServer) -> list[bytes]:
    with server.admin() as admin:
        return sorted(admin.keys("*"))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_it_is_logged_once_when_redis_goes_and_once_when_it_is_back(
    own: Path, server: RealServer, workers: str
) -> None:
    with serving(own / "s", REDIS_URL=server.url, WORKERS=workers) as served:
        if workers == "2":
            all_answer(served)
        server.kill()
        # Whichever worker takes them.
        assert {count(served)[0] for _ in range(40)} == {503}
        assert ready(served) == (503, ["Redis does not answer"])
        server.start()
        statuses = {count(served)[0] for _ in range(40)}
        assert 200 in statuses
        _, output = served.stop()
    gone = [line for line in output.splitlines() if "Redis does not answer: " in line]
    back = [line for line in output.splitlines() if "Redis answers again, after " in line]
    assert (len(gone), len(back)) == (1, 1), output
    assert " ERROR " in gone[0]
    assert " WARNING " in back[0]


def test_redis_that_has_lost_its_data_gets_no_counts(own: Path, server: RealServer) -> None:
    with serving(own / "s", REDIS_URL=server.url) as served:
        assert count(served) == (200, 1)
        emptied(server)
        assert {count(served)[0] for _ in range(20)} == {503}
        assert httpx.get(f"{served.url}/article?path=/a").status_code == 503
        status, (reason,) = ready(served)
        assert status == 503
        assert "Redis has lost its data" in reason
        assert "restore a backup, or restart them to start empty" in reason
        metrics = httpx.get(f"{served.url}/metrics").text
        assert 'footfall_finding{code="other_data"} 1.0' in metrics
        assert holds(server) == [], "nothing was written"
        _, output = served.stop()
        assert (output.count("lost its data"), output.count("Traceback")) == (1, 0), output
        served.start()
        assert count(served) == (200, 1)


def test_guard_warn_does_not_help_if_the_data_is_gone(own: Path, server: RealServer) -> None:
    with serving(own / "s", REDIS_URL=server.url, GUARD="warn") as served:
        assert count(served) == (200, 1)
        emptied(server)
        assert ready(served)[0] == 503


def test_a_flush_under_way_is_found_and_nothing_is_counted_from_then_on(
    own: Path, server: RealServer
) -> None:
    with serving(own / "s", REDIS_URL=server.url) as served:
        assert count(served) == (200, 1)
        with server.admin() as admin:
            admin.flushall()
        # The connections are still open: a request for the state of the service finds it out.
        assert "lost its data" in ready(served)[1][0]
        assert count(served)[0] == 503
        # What is written behind requests, as by whom a page was viewed, may have been on its way.
        assert not [key for key in holds(server) if b":counts:" in key]


def test_with_its_own_data_back_the_service_continues_by_itself(
    own: Path, server: RealServer
) -> None:
    with serving(own / "s", REDIS_URL=server.url) as served, server.admin() as admin:
        assert count(served) == (200, 1)
        admin.rename("ff:{site}:format", "ff:{site}:kept")
        admin.hset("ff:{site}:format", mapping={"born": "other", "buckets": "256"})
        status, (reason,) = ready(served)
        assert status == 503
        assert "Redis has another data set, other instead of " in reason
        assert count(served)[0] == 503
        admin.rename("ff:{site}:kept", "ff:{site}:format")
        assert ready(served) == (200, [])
        assert count(served) == (200, 2)
        _, output = served.stop()
        assert output.count("Redis has the data set of this service again") == 1


def test_nothing_is_counted_while_a_backup_is_restored(own: Path, server: RealServer) -> None:
    with serving(own / "s", REDIS_URL=server.url) as served, server.admin() as admin:
        assert count(served) == (200, 1)
        admin.hset("ff:{site}:format", "restoring", "x 1 ")
        assert "being restored" in ready(served)[1][0]
        assert count(served)[0] == 503


def test_after_a_restore_in_place_services_count_only_when_they_start_again(
    own: Path, server: RealServer
) -> None:
    with serving(own / "s", REDIS_URL=server.url) as served:
        assert count(served) == (200, 1)
        assert served.ask("backup", str(own / "b"))[0] == 0
        code, output = served.ask("restore", "--replace", str(own / "b"))
        assert code == 0, output
        assert "Redis has another data set" in ready(served)[1][0]
        assert count(served)[0] == 503
        served.stop()
        served.start()
        assert count(served) == (200, 2)


@pytest.fixture
async def store(server: RealServer) -> AsyncIterator[Store]:
    store = Store(connect(server.url, timeout=1.5), prefix="t", buckets=256)
    await store.create()
    yield store
    await store.redis.close()


async def test_no_change_overtakes_the_check_of_a_new_connection(
    server: RealServer, store: Store
) -> None:
    assert await store.counters.add([("/a", "time", 1)]) == [1]
    await asyncio.to_thread(emptied, server)
    found = await asyncio.gather(
        *(store.counters.add([(f"/{n}", "time", 1)]) for n in range(20)),
        store.site.forget_pages_of("account"),
        store.buckets.retry_after([Bucket("address", Rate(1, 1))]),
        return_exceptions=True,
    )
    causes = {type(each.__cause__) for each in found if isinstance(each, StoreUnavailable)}
    assert len([each for each in found if isinstance(each, StoreUnavailable)]) == len(found)
    # Requests that were sent before the connection was known to be gone have another reason.
    assert OtherData in causes
    assert holds(server) == []


async def test_what_was_deleted_comes_back_whole_though_redis_was_frozen_amid(
    server: RealServer,
) -> None:
    store = Store(connect(server.url, timeout=0.3), prefix="t", buckets=256)
    await store.create()
    sites = Sites(store)
    site = await sites()
    ids = [(await site.post(f"{n}", url=f"/{n % 7}"))["objectId"] for n in range(60)]
    deleted = (await site.send("DELETE", "/comment", {"ids": ids}, by=ADMIN))["data"]
    assert await site.get("/comment", type="count") == 0
    name, back, restore = deleted["undo"], 0, site.service.comments.deletions.restore

    async def frozen_amid(*words: Any) -> int | None:
        nonlocal back
        back += 1
        if back == 20:
            server.signal(signal.SIGSTOP)
        return await restore(*words)

    site.service.comments.deletions.restore = frozen_amid  # type: ignore[method-assign, assignment]
    answers = []
    while name:
        answer = await site.send("PUT", "/api/comment", {"undo": name}, by=ADMIN)
        server.signal(signal.SIGCONT)
        await asyncio.to_thread(wait_until, server.answers, "Redis to answer again")
        answers.append(answer)
        if answer["errno"] == 0:
            name = answer["data"].get("undo")
    assert "failed" in answers[0]["data"]["results"].values()
    assert await site.get("/comment", type="count") == 60
    await sites.close()
    await store.redis.close()


@pytest.fixture
def watched(kind: str, own: Path) -> Iterator[Group]:
    with group(program_of(kind), own) as watched:
        yield watched


@pytest.mark.rare
async def test_a_failover_to_a_replica_without_the_data_gets_no_counts(watched: Group) -> None:
    store = Store(connect(watched.url, timeout=1), prefix="t", buckets=256)
    await store.create()
    assert await store.counters.add([("/a", "time", 1)]) == [1]
    watched.master.wait_for_replica()
    with watched.replica.admin() as admin:
        admin.config_set("replica-read-only", "no")
        admin.flushall()
        admin.config_set("replica-read-only", "yes")
    await asyncio.to_thread(watched.fail_over)
    reasons: list[BaseException | None] = []

    async def is_found() -> bool:
        with pytest.raises(StoreUnavailable) as caught:
            await store.counters.add([("/a", "time", 1)])
        reasons.append(caught.value.__cause__)
        return isinstance(reasons[-1], OtherData)

    async with asyncio.timeout(60):
        while not await is_found():
            await asyncio.sleep(0.01)
    assert "lost its data" in await safety_of(store).trouble()
    assert holds(watched.master) == []
    await store.redis.close()


@pytest.mark.rare
async def test_a_server_that_comes_and_goes_does_not_fill_the_log(
    server: RealServer, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(connect(server.url, timeout=1.5), prefix="t", buckets=256)
    await store.create()
    store.redis.stats.logs_outages = True
    for _ in range(5):
        await asyncio.to_thread(server.kill)
        for _ in range(10):
            with pytest.raises(StoreUnavailable):
                await store.counters.read(["time /a"])
        await asyncio.to_thread(server.start)
        assert await store.counters.read(["time /a"]) == [0]
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2, lines
    await store.redis.close()


@pytest.mark.rare
@pytest.mark.parametrize("guard", ["refuse", "warn"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_problem_at_the_start_is_logged_once(
    own: Path, server: RealServer, guard: str, workers: str
) -> None:
    with server.admin() as admin:
        admin.config_set("maxmemory-policy", "allkeys-lru")
    served = Serving(own / "s", REDIS_URL=server.url, GUARD=guard, WORKERS=workers)
    if guard == "refuse":
        code, output = served.ask("serve")
        assert code == 1
    else:
        served.start()
        wait_until(lambda: ready(served)[0] == 200, "it to be ready")
        _, output = served.end()
    assert output.count("allkeys-lru") == 1, output

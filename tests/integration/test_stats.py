"""Statistics of commands to a real Redis: how long they took, and which were slow."""

from collections.abc import AsyncIterator

import pytest

from footfall.data.store import Store
from footfall.driver.client import connect
from footfall.driver.stats import CommandStats
from footfall.telemetry.metrics import Metrics
from tests.conftest import server_of
from tests.support.servers import RealServer


@pytest.fixture
def meters() -> Metrics:
    return Metrics()


@pytest.fixture
async def slow_store(
    kind: str, servers: dict[str, RealServer], meters: Metrics, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Store]:
    """A store for which any answer is slow and gets a log line."""
    monkeypatch.setattr("footfall.telemetry.logs.WINDOW_SECONDS", 0)
    redis = connect(server_of(kind, servers).url, 5, stats=CommandStats(meters, slow_seconds=1e-9))
    store = Store(redis, prefix="notes", buckets=64)
    await store.create()
    yield store
    await store.redis.close()


async def test_each_trip_is_timed(slow_store: Store, meters: Metrics) -> None:
    before, before_seconds = meters.redis_seconds.totals()
    await slow_store.counters.add([("/a", "time", 1)])
    await slow_store.counters.read(["time /a"])
    after, after_seconds = meters.redis_seconds.totals()
    assert after[-1][1] - before[-1][1] == 2
    assert 0 < after_seconds - before_seconds < 10


async def test_a_slow_trip_is_logged_by_the_name_of_its_script(
    slow_store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    await slow_store.counters.add([("/a", "time", 1)])
    line = caplog.records[-1]
    assert line.getMessage().startswith("Redis's counters/add took ")
    assert vars(line)["command"] == "counters/add"

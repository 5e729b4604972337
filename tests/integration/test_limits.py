"""Limits hold across processes: two services on one Redis, one of them without the fast path."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from footfall.counting.limits import MIN_BURST_CHANGES, NEW_BURST_COUNTERS
from footfall.counting.unknown_proxies import MANY
from footfall.limits.allowance import ALLOWANCE_TOKENS
from tests.conftest import EVERYWHERE, server_of
from tests.support.clusters import RealCluster
from tests.support.servers import RealServer, free_port, wait_until
from tests.support.serving import Serving, serving

ON = EVERYWHERE


@pytest.fixture
def admins(kind: str, request: pytest.FixtureRequest) -> list[RealServer]:
    """The servers that take changes."""
    if kind == "cluster":
        cluster: RealCluster = request.getfixturevalue("cluster")
        return [cluster.nodes[i] for i in cluster.masters()]
    return [server_of(kind, request.getfixturevalue("servers"))]


@pytest.fixture
def both(
    kind: str, home: Path, admins: list[RealServer], request: pytest.FixtureRequest
) -> Iterator[list[Serving]]:
    with tempfile.TemporaryDirectory(dir=home) as name:
        settings = {
            "REDIS_URL": request.getfixturevalue("cluster").url
            if kind == "cluster"
            else admins[0].url,
            # Each has its own prefix; a directory's name has as many as needed.
            "KEY_PREFIX": f"l{name[-8:]}",
            "COUNTER_RATE": "0.01",
            "COUNTER_LIMIT": "21",
        }
        with (
            serving(Path(name) / "a", **settings) as first,
            serving(Path(name) / "b", "--no-fast-path", **settings) as second,
        ):
            yield [first, second]


@pytest.mark.rare
async def test_an_address_has_one_bucket_at_all_services(both: list[Serving]) -> None:
    """And at each of them an allowance, for which it need not ask."""
    forwarded = {"x-forwarded-for": "203.0.113.9"}
    async with httpx.AsyncClient(headers=forwarded) as client:
        answers = await asyncio.gather(
            *(client.post(f"{both[i % 2].url}/article", json={"path": "/a"}) for i in range(300))
        )
    found = Counter(answer.status_code for answer in answers)
    assert MIN_BURST_CHANGES <= found[200] <= MIN_BURST_CHANGES + 2 * ALLOWANCE_TOKENS
    assert found[200] + found[429] == 300
    counts = sorted(answer.json() for answer in answers if answer.status_code == 200)
    assert counts == list(range(1, found[200] + 1))
    refused = [answer for answer in answers if answer.status_code == 429]
    kinds = {
        tuple(name for name in each.headers if name not in ("date", "retry-after"))
        for each in refused
    }
    assert len(kinds) == 1
    assert {each.text for each in refused} == {'{"errno":429,"errmsg":"Too Many Requests"}'}
    for each in both:
        # A proxy's own address has no limit.
        assert httpx.post(f"{each.url}/article", json={"path": "/b"}).status_code == 200


def test_at_the_limit_no_service_accepts_a_new_counter(both: list[Serving]) -> None:
    def post(service: Serving, path: str) -> object:
        return httpx.post(f"{service.url}/api/article", json={"path": path}).json()["errno"]

    first, second = both
    assert [post(first, f"/{n}") for n in range(5)] == [0, 0, 0, 1000, 1000]
    assert post(first, "/0") == 0
    # The other service has seen none of them start, and continues until it counts again.
    assert post(second, "/0") == 0
    second.stop()
    second.start()
    assert [post(second, "/0"), post(second, "/9")] == [0, 1000]


@pytest.mark.rare
def test_counters_that_were_removed_make_room(both: list[Serving]) -> None:
    first, _ = both
    for n in range(4):
        last = httpx.post(f"{first.url}/api/article", json={"path": f"/{n}"}).json()
    assert last["errno"] == 1000
    code, output = first.ask("counters", "delete", "--yes", "*")
    assert code == 0, output
    wait_until(
        lambda: httpx.post(f"{first.url}/api/article", json={"path": "/9"}).json()["errno"] == 0,
        "room for another counter",
    )


@pytest.mark.rare
async def test_new_counters_take_tokens_at_all_services(both: list[Serving]) -> None:
    for each in both:
        each.stop()
        each.environ |= {"COUNTER_RATE": "0", "COUNTER_LIMIT": "0", "NEW_COUNTER_RATE": "0.01"}
        each.start()
    at_once = 20
    limits = httpx.Limits(max_connections=at_once)
    forwarded = {"x-forwarded-for": "203.0.113.9"}
    # Most wait for one of these connections, however long that takes.
    patience = httpx.Timeout(30, pool=None)
    async with httpx.AsyncClient(headers=forwarded, limits=limits, timeout=patience) as client:

        async def count(n: int, path: str) -> int:
            answer = await client.post(f"{both[n % 2].url}/article", json={"path": path})
            return answer.status_code

        found = Counter(await asyncio.gather(*(count(n, f"/{n}") for n in range(600))))
        assert set(found) == {200, 429}
        # Requests that were under way when the last token went.
        assert (
            NEW_BURST_COUNTERS < found[200] <= NEW_BURST_COUNTERS + 2 * (ALLOWANCE_TOKENS + at_once)
        )
        more = Counter([await count(n, f"/more/{n}") for n in range(40)])
        # Each service may have to learn of it once more.
        assert more[200] <= 4
        known = [await count(n, "/0") for n in range(10)]
        assert known == [200] * 10


def test_a_proxy_that_is_not_trusted_is_named(own: Path) -> None:
    environ = {"TRUSTED_PROXIES": "192.0.2.1", "NEW_COUNTER_RATE": "0.001"}
    environ["PORT"] = str(free_port())
    with serving(own / "s", **environ) as served, httpx.Client() as proxy:
        for n in range(NEW_BURST_COUNTERS + 2 * MANY):
            headers = {"X-Forwarded-For": f"198.51.100.{n % 250}"}
            proxy.post(f"{served.url}/api/article", json={"path": f"/{n}"}, headers=headers)
        (warning,) = (
            each
            for each in httpx.get(f"{served.url}/readyz").json()["warnings"]
            if "TRUSTED_PROXIES" in each
        )
        assert "come from 127.0.0.1, and were rejected" in warning
        assert warning in served.ask("doctor")[1]

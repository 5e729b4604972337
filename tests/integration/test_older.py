"""A data set of a version before: it is refused in words, and taken along by a backup."""

from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from footfall.store import Store
from tests.conftest import EVERYWHERE, server_of
from tests.support.serving import Serving

WORDS = "`footfall backup FILE` and then `footfall restore --replace FILE`"
LONG = "/" + "long" * 200
# By the hash that they lie in: some had been moved on when the last move was interrupted.
COUNTERS: Mapping[str, Mapping[str, int]] = {
    "{c:00}:counts.1:0": {"time /a": 3, "reaction0 /a": 1},
    "{c:a7}:counts.1:1": {"time /b": 4},
    "{c:a7}:counts.2:3": {f"time {LONG}": 5},
}


@pytest.fixture(params=EVERYWHERE)
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture
async def older(store: Store, kind: str, own: Path, request: pytest.FixtureRequest) -> Serving:
    """A service on a data set that was made before."""
    prefix, redis = f"old{own.name[-8:]}", store.redis.client
    await redis.hset(f"{prefix}:{{site}}:format", mapping={
        "buckets": 512, "born": "0123abcd", "generation": 1, "next": 1024,
    })  # fmt: skip
    for name, counters in COUNTERS.items():
        await redis.hset(f"{prefix}:{name}", mapping=dict(counters))
    await redis.set(f"{prefix}:{{c:a7}}:counts:3", "moved")
    if kind == "cluster":
        url = request.getfixturevalue("cluster").url
    else:
        url = server_of(kind, request.getfixturevalue("servers")).url
    return Serving(own, REDIS_URL=url, KEY_PREFIX=prefix)


async def test_it_is_refused_by_whatever_would_not_find_its_counters(older: Serving) -> None:
    for command in ("serve", "check"):
        code, output = older.ask(command)
        assert code == 1, output
        assert WORDS in output
        assert "Traceback" not in output


async def test_a_backup_takes_its_counters_along(older: Serving, own: Path) -> None:
    file = str(own / "file")
    code, output = older.ask("backup", file)
    assert code == 0, output
    assert output.endswith(f"4 counters, 0 comments on 0 pages, 0 accounts in {file}\n")
    code, output = older.ask("restore", file)
    assert (code, "--replace" in output) == (1, True)
    assert older.ask("restore", "--replace", file)[0] == 0
    assert older.ask("restore", "--compare", file)[0] == 0
    older.start()
    counts = httpx.get(f"{older.url}/article", params={"path": ["/a", "/b", LONG, "/c"]})
    assert counts.json() == [3, 4, 5, 0]
    older.stop()

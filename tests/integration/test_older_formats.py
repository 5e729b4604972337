"""Data sets of older formats are refused in words, and can be moved by backup and restore."""

from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from footfall.driver.keys import digest
from footfall.store import Store
from tests.conftest import EVERYWHERE, server_of
from tests.support.serving import Serving, started

WORDS = "`footfall backup FILE` and then `footfall restore --replace FILE`"
LONG = "/" + "long" * 200
# By the hash that holds them: some had been moved when the last move was interrupted.
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
def url(kind: str, request: pytest.FixtureRequest) -> str:
    if kind == "cluster":
        there: str = request.getfixturevalue("cluster").url
        return there
    return server_of(kind, request.getfixturevalue("servers")).url


@pytest.fixture
async def first(store: Store, own: Path, url: str) -> Serving:
    """A service on a data set of format 1, whose counters are in other hashes."""
    prefix, redis = f"old{own.name[-8:]}", store.redis.client
    await redis.hset(f"{prefix}:{{site}}:format", mapping={
        "buckets": 512, "born": "0123abcd", "generation": 1, "next": 1024,
    })  # fmt: skip
    for name, counters in COUNTERS.items():
        await redis.hset(f"{prefix}:{name}", mapping=dict(counters))
    await redis.set(f"{prefix}:{{c:a7}}:counts:3", "moved")
    return Serving(own, REDIS_URL=url, KEY_PREFIX=prefix)


@pytest.fixture
async def second(store: Store, own: Path, url: str) -> Serving:
    """A service on a data set of format 2, with a counter and a comment: two keys have other names,
    and no number says so."""
    prefix, redis = f"two{own.name[-8:]}", store.redis.client
    served = Serving(own, REDIS_URL=url, KEY_PREFIX=prefix)
    with started(served):
        assert httpx.post(f"{served.url}/article", json={"path": "/a"}).json() == 1
        comment(served)
    page = f"{prefix}:{{p:{digest('/a')}}}"
    _, said = await redis.hscan(f"{page}:fingerprints")
    await redis.hset(f"{page}:said", mapping=said)
    await redis.unlink(f"{page}:fingerprints")
    await redis.hdel(f"{prefix}:{{site}}:format", "number")
    return served


def comment(served: Serving) -> None:
    """Send a comment that is always the same; a repetition is answered with the stored one."""
    draft = {"comment": "the same words", "url": "/a", "nick": "Ann"}
    assert httpx.post(f"{served.url}/api/comment", json=draft).json()["errno"] == 0


def is_refused(served: Serving) -> bool:
    """Is the data set refused in words, by every command that would not find its data?"""
    for command in ("serve", "check"):
        code, output = served.ask(command)
        assert code == 1, output
        assert WORDS in output
        assert "Traceback" not in output
    return True


def taken_along(served: Serving, file: str) -> str:
    """Back up the data and restore it in its place; returns the backup's last line."""
    code, output = served.ask("backup", file)
    assert code == 0, output
    code, refusal = served.ask("restore", file)
    assert (code, "--replace" in refusal) == (1, True)
    assert served.ask("restore", "--replace", file)[0] == 0
    assert served.ask("restore", "--compare", file)[0] == 0
    return output.splitlines()[-1]


async def test_counters_of_the_first_format_can_be_moved(first: Serving, own: Path) -> None:
    assert is_refused(first)
    file = str(own / "file")
    held = taken_along(first, file)
    assert held.endswith(f"4 counters, 0 comments on 0 pages, 0 accounts in {file}")
    with started(first):
        counts = httpx.get(f"{first.url}/article", params={"path": ["/a", "/b", LONG, "/c"]})
        assert counts.json() == [3, 4, 5, 0]


async def test_fingerprints_of_the_second_format_can_be_moved(second: Serving, own: Path) -> None:
    assert is_refused(second)
    file = str(own / "file")
    held = taken_along(second, file)
    assert held.endswith(f"1 counters, 1 comments on 1 pages, 0 accounts in {file}")
    with started(second):
        assert httpx.get(f"{second.url}/article", params={"path": "/a"}).json() == 1
        comment(second)
        answer = httpx.get(f"{second.url}/api/comment", params={"path": "/a"}).json()
        assert answer["data"]["count"] == 1
    assert second.ask("check")[0] == 0


async def test_a_later_format_is_refused_too(second: Serving, store: Store) -> None:
    key = f"{second.environ['KEY_PREFIX']}:{{site}}:format"
    await store.redis.client.hset(key, "number", 4)
    for command in ("serve", "check", "backup"):
        code, output = second.ask(command)
        assert (code, "install a later one" in output) == (1, True), output
        assert "Traceback" not in output

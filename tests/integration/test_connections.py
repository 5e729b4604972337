"""Connections that strangers hold open: how many each may have, and which give way."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.serving import Serving, serving

MOST = 60
GET = b"GET /api/article?path=/a HTTP/1.1\r\nhost: a\r\n\r\n"
Opened = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Serving]:
    """Strangers reach it without a proxy."""
    proxies = "192.0.2.1"
    with serving(
        home / "connections", MAX_CONNECTIONS=str(MOST), TRUSTED_PROXIES=proxies, WORKERS="1"
    ) as served:
        yield served


class Strangers:
    """Who opens connections, and closes all at the end."""

    def __init__(self, served: Serving) -> None:
        host, port = served.url.removeprefix("http://").split(":")
        self._at = host, int(port)
        self._opened = list[Opened]()

    async def __aenter__(self) -> "Strangers":
        return self

    async def __aexit__(self, *_: object) -> None:
        for _reader, writer in self._opened:
            writer.close()

    async def open(self, address: str) -> Opened:
        host, port = self._at
        opened = await asyncio.open_connection(host, port, local_addr=(address, 0))
        self._opened.append(opened)
        return opened


async def status(connection: Opened) -> int:
    """The status of an answer; 0 for a connection that was closed."""
    reader, writer = connection
    try:
        writer.write(GET)
        line = await reader.readline()
    except ConnectionError:
        return 0
    return int(line.split()[1]) if line else 0


@pytest.mark.parametrize(
    "addresses",
    [["127.0.1.1"], [f"127.0.2.{n}" for n in range(1, 51)]],
    ids=["one address", "fifty addresses"],
)
async def test_who_holds_most_connections_gives_way(served: Serving, addresses: list[str]) -> None:
    """Who: somebody with a program. What: opens connections and leaves them, until there are none
    for others. Instead: an address has a third of them, and the next client gets one of whose
    address has most."""
    async with Strangers(served) as strangers, asyncio.timeout(60):
        held = [await strangers.open(addresses[n % len(addresses)]) for n in range(100)]
        for n in range(1, 6):
            assert await status(await strangers.open(f"127.0.3.{n}")) == 200
        answered = [await status(connection) for connection in held]
    assert answered.count(200) <= (MOST // 3 if len(addresses) == 1 else MOST - 5)
    assert answered.count(200) >= min(len(addresses), MOST // 3)


async def test_connections_of_proxies_come_before_those_of_strangers(home: Path) -> None:
    with serving(
        home / "proxies", MAX_CONNECTIONS="9", TRUSTED_PROXIES="127.0.5.0/24", WORKERS="1"
    ) as served:
        async with Strangers(served) as people, asyncio.timeout(60):
            strangers = [await people.open(f"127.0.4.{n}") for n in range(1, 10)]
            proxies = [await people.open("127.0.5.1") for _ in range(9)]
            assert [await status(connection) for connection in proxies] == [200] * 9
            assert [await status(connection) for connection in strangers] == [0] * 9
            assert await status(await people.open("127.0.4.10")) == 503
            assert await status(await people.open("127.0.5.1")) == 503

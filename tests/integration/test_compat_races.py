"""Many first readers at once, by other counters' protocols: every view is counted, and once."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.serving import Serving, serving

READERS = 50
PAGE = "/2020/你好/"
ENCODED = "/2020/%E4%BD%A0%E5%A5%BD/"
COUNTER = "/1.1/classes/Counter"
INCREMENT = {"time": {"__op": "Increment", "amount": 1}}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    home = tmp_path_factory.mktemp("races")
    with serving(Path(home), COMPAT="leancloud,open-kounter", WORKERS="2") as one:
        yield one


async def found(client: httpx.AsyncClient, field: str, name: str) -> dict[str, Any]:
    answer = await client.get(COUNTER, params={"where": json.dumps({field: name})})
    (row,) = answer.json()["results"]
    return dict(row)


async def as_next(client: httpx.AsyncClient, path: str) -> None:
    row = await found(client, "url", path)
    (await client.put(f"{COUNTER}/{row['objectId']}", json=INCREMENT)).raise_for_status()


async def as_valine(client: httpx.AsyncClient, path: str) -> None:
    """As where it believes that the page has no object."""
    sent = {"url": path, "xid": path, "title": "A", "time": 1}
    (await client.post(COUNTER, json=sent)).raise_for_status()


async def as_fluid(client: httpx.AsyncClient, path: str) -> None:
    rows = [await found(client, "target", each) for each in ("pv" + path, "uv" + path, path)]
    requests = [
        {"method": "PUT", "path": f"{COUNTER}/{row['objectId']}", "body": INCREMENT} for row in rows
    ]
    outcomes = (await client.post("/1.1/batch", json={"requests": requests})).json()
    assert [[*outcome] for outcome in outcomes] == [["success"]] * 3


async def as_open_kounter(client: httpx.AsyncClient, path: str) -> None:
    requests = [{"target": "pv" + path}, {"target": path}]
    sent = {"action": "batch_inc", "requests": requests}
    assert (await client.post("/api/counter", json=sent)).json()["code"] == 0


Reader = Callable[[httpx.AsyncClient, str], Awaitable[None]]


async def views(client: httpx.AsyncClient, path: str) -> int:
    count: int = (await client.get("/article", params={"path": path})).json()
    return count


@pytest.mark.rare
@pytest.mark.parametrize("reader", [as_next, as_valine, as_fluid, as_open_kounter])
async def test_as_many_first_views_as_readers_are_counted(service: Serving, reader: Reader) -> None:
    path = f"/{reader.__name__}/"
    async with httpx.AsyncClient(base_url=service.url, timeout=60) as client:
        await asyncio.gather(*(reader(client, path) for _ in range(READERS)))
        assert await views(client, path) == READERS
        assert (await found(client, "url", path))["time"] == READERS


@pytest.mark.rare
async def test_all_protocols_and_spellings_count_one_page(service: Serving) -> None:
    readers: list[Reader] = [as_next, as_valine, as_fluid, as_open_kounter]
    async with httpx.AsyncClient(base_url=service.url, timeout=60) as client:
        views_sent = [
            reader(client, path)
            for reader in readers
            for path in (PAGE, ENCODED)
            for _ in range(READERS // 2)
        ]
        await asyncio.gather(*views_sent)
        assert await views(client, PAGE) == await views(client, ENCODED) == len(views_sent)

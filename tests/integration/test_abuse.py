"""What a stranger can do to a connection, and through it to others and to the process: not much."""

import asyncio
import os
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest

from footfall.asgi import create_metrics
from footfall.config import Settings
from footfall.data.store import Store
from footfall.http.connection import STUCK_SECONDS
from footfall.http.protocol import MAX_PIPELINED
from footfall.limits.answer_cache import AnswerCache, CachedAnswer
from footfall.routes import operations
from footfall.table import fast_requests
from footfall.table.fast_requests import FastRequests
from tests.support.fakes import fake_redis
from tests.support.servers import RealServer
from tests.support.sites import site_of

from .test_fast_path import COUNT, JSON, LAST, READ, Served, pair, request, serve

TYPES = ",".join(["time", *(f"reaction{n}" for n in range(9))])
LONG = "x" * 2000
BOTH = pytest.mark.parametrize("is_fast", [True, False])


@pytest.fixture
def url(servers: dict[str, RealServer]) -> str:
    return servers["valkey"].url


def requests_of_a_site() -> FastRequests:
    store = Store(fake_redis(), prefix="t", buckets=256)
    site = site_of(Settings.from_env({}), store, metrics=create_metrics())
    return FastRequests(site.served, operations(()))


def resident() -> int:
    """The memory of this process, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    "chunks",
    [
        # The body ends nine bytes later, and what follows is another request.
        [
            request("POST", "/api/article", b"", JSON, "Content-Length: 9")
            + b'{"path":"GET /token?"}',
            b" HTTP/1.1\r\nHost: x\r\n\r\n",
        ],
        [
            request("POST", "/api/article", b"", JSON, "Content-Length: 9")
            + b'{"path":"GET /token?"}\r\n\r\n'
        ],
        [request("GET", "/api/article?path=/x", b"", "Proxy-Connection: close"), READ],
        [request("GET", "/api/article?path=/x", b"", "Proxy-Connection: keep-alive"), LAST],
    ],
)
async def test_no_request_is_answered_that_was_not_sent(
    url: str, home: Path, chunks: Sequence[bytes]
) -> None:
    async with pair(url, home) as both:
        await both.agree(chunks)


@pytest.mark.rare
def test_the_cache_of_requests_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 8 * 1024 * 1024
    monkeypatch.setattr(fast_requests, "MAX_KEPT_BYTES", most)
    requests = requests_of_a_site()
    before = resident()
    # Without a bound these would take 45 MB.
    for n in range(2_000):
        many = f"/article?type={TYPES}&path=" + ",".join(f"/{n}/{m}" for m in range(20))
        assert requests[b"GET", many.encode(), b""] is not None
        assert requests[b"GET", f"/article?path={n}".encode(), b""] is not None
        assert requests[b"POST", b"/article", b'{"path":"/%d"}' % n] is not None
    assert resident() - before < 2 * most


@pytest.mark.rare
@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        (b"GET", f"/article?type={TYPES}&path=/{{n}}{LONG}", ""),
        (b"POST", "/article", f'{{"path":"/{{n}}{LONG}\N{GRINNING FACE}"}}'),
        (b"GET", f"/comment?path=/{{n}}{LONG}%F0%9F%98%80", ""),
        (b"GET", "/comment?type=count" + "&url=/{n}" * 150, ""),
    ],
    ids=["many types", "a wide character", "a page", "many short paths"],
)
def test_no_request_takes_much_more_of_the_cache_than_is_estimated(
    monkeypatch: pytest.MonkeyPatch, method: bytes, url: str, body: str
) -> None:
    most = 1024 * 1024
    monkeypatch.setattr(fast_requests, "MAX_KEPT_BYTES", most)
    requests = requests_of_a_site()
    tracemalloc.start()
    try:
        for n in range(300):
            sent = [each.replace("{n}", f"{n}").encode() for each in (url, body)]
            assert requests[method, sent[0], sent[1]] is not None
        assert requests
        assert tracemalloc.get_traced_memory()[1] < 1.6 * most
    finally:
        tracemalloc.stop()


def test_pages_that_nobody_commented_on_fill_no_memory() -> None:
    pages = AnswerCache(max_bytes=1_000_000)
    for n in range(5000):
        pages._keep((f"\N{GRINNING FACE}{n}" + "x" * 1000, 1), CachedAnswer((0, 0), b"", b""))
    assert len(pages._kept) < 1_000_000 / 4000


@BOTH
async def test_a_flood_of_pipelined_requests_is_cut_off(
    url: str, home: Path, is_fast: bool
) -> None:
    async with serve(url, home / f"f{is_fast}", is_fast=is_fast) as served:
        flood = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 10_000
        received, end = await served.exchange([flood])
        assert end != "open"
        assert received.count(b"HTTP/1.1 200") <= MAX_PIPELINED + 1
        assert await is_fine(served)


@BOTH
async def test_a_client_that_does_not_read_is_disconnected(
    url: str, home: Path, is_fast: bool
) -> None:
    async with serve(url, home / f"u{is_fast}", is_fast=is_fast) as served:
        _, writer = await asyncio.open_unix_connection(str(served.path), limit=1)
        page = request("GET", "/")
        while not any(each.flow.write_paused for each in served.state.connections):
            writer.write(page)
            await asyncio.sleep(0)
        (connection,) = served.state.connections
        now = asyncio.get_running_loop().time()
        connection.close_if_late(now, idle_seconds=5)
        assert not connection.transport.is_closing()
        connection.close_if_late(now + STUCK_SECONDS + 1, idle_seconds=5)
        assert connection.transport.is_closing()
        writer.close()
        await served.wait_for_nobody()


OFFER = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk")
VIEW = b'{"path": "/h2/", "type": "time"}'
A_VIEW = request("POST", "/article", VIEW, *OFFER)
CHUNKED = request(
    "POST", "/article", b"", *OFFER, "Transfer-Encoding: chunked"
) + b"%x\r\n%b\r\n0\r\n\r\n" % (len(VIEW), VIEW)
UPGRADES = {
    "h2c": [A_VIEW],
    "in pieces": [A_VIEW[:40], A_VIEW[40:90], A_VIEW[90:-10], A_VIEW[-10:]],
    "byte by byte": [A_VIEW[n : n + 1] for n in range(len(A_VIEW))],
    "after another": [request("GET", "/article?path=/h2/") + A_VIEW],
    "before another": [A_VIEW + request("GET", "/article?path=/h2/")],
    "chunked": [CHUNKED],
    "websocket": [request("POST", "/article", VIEW, "connection: upgrade", "UPGRADE: websocket")],
    "two offers": [request("POST", "/article", VIEW, *OFFER, "Upgrade: TLS/1.0")],
    "a comment": [request("POST", "/comment", b'{"url": "/h2/", "comment": "x"}', *OFFER)],
    "through ASGI": [request("POST", "/article", VIEW, *OFFER, "Authorization: Bearer x")],
    "of GET": [request("GET", "/article?path=/h2/", b"", *OFFER)],
    "as HTTP/1.0": [A_VIEW.replace(b"HTTP/1.1\r\nHost: a\r\n", b"HTTP/1.0\r\nHost: a\r\n")],
}


@BOTH
@pytest.mark.parametrize("kind", UPGRADES)
async def test_an_offer_of_another_protocol_is_ignored(
    url: str, home: Path, is_fast: bool, kind: str
) -> None:
    """As curl --http2 and Java's HttpClient send it by default."""
    async with serve(url, home / f"u{is_fast}", is_fast=is_fast) as served:
        received, _ = await served.exchange(UPGRADES[kind])
        answers = received.split(b"HTTP/1.1 ")[1:]
        assert [answer[:3] for answer in answers] == [b"200"] * (2 if "another" in kind else 1)
        if kind not in ("of GET", "a comment"):
            read, _ = await served.exchange([request("GET", "/article?path=/h2/")])
            assert read.endswith(b"\r\n\r\n1")


@BOTH
async def test_a_body_after_an_upgrade_is_no_request(url: str, home: Path, is_fast: bool) -> None:
    async with serve(url, home / f"g{is_fast}", is_fast=is_fast) as served:
        inner = request("GET", "/article?path=/smuggled")
        length = f"Content-Length: {len(inner)}"
        outer = request("POST", "/token", b"", "Connection: upgrade", "Upgrade: h2c", length)
        for chunks in ([outer, inner], [outer + inner]):
            received, _ = await served.exchange(chunks)
            assert received.count(b"HTTP/1.1 ") == 1


@BOTH
async def test_a_tunnel_is_refused(url: str, home: Path, is_fast: bool) -> None:
    async with serve(url, home / f"c{is_fast}", is_fast=is_fast) as served:
        tunnel = b"CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n"
        received, end = await served.exchange([tunnel + request("GET", "/article?path=/x")])
        assert received.count(b"HTTP/1.1 ") == 1
        assert received[9:12] in (b"400", b"404", b"405")
        assert end != "open"


@BOTH
async def test_a_client_that_has_closed_its_sending_side_is_answered(
    url: str, home: Path, is_fast: bool
) -> None:
    async with serve(url, home / f"e{is_fast}", is_fast=is_fast) as served:
        reader, writer = await asyncio.open_unix_connection(str(served.path))
        writer.write(COUNT)
        writer.write_eof()
        received = await asyncio.wait_for(reader.read(), 5)
        assert received.endswith(b'"data":[{"time":1}]}')
        writer.close()


@BOTH
async def test_nobody_waits_for_the_body_of_a_client_that_has_hung_up(
    url: str, home: Path, is_fast: bool
) -> None:
    async with serve(url, home / f"h{is_fast}", is_fast=is_fast) as served:
        reader, writer = await asyncio.open_unix_connection(str(served.path))
        writer.write(COUNT[:-3])
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()


@BOTH
async def test_connections_beyond_the_limit_are_told_to_come_again(
    url: str, home: Path, is_fast: bool
) -> None:
    async with serve(url, home / f"c{is_fast}", is_fast=is_fast, MAX_CONNECTIONS="2") as served:
        kept = [await asyncio.open_unix_connection(str(served.path)) for _ in range(2)]
        await served.read_all()
        # What nobody reads would be lost with the answer, when the connection is closed.
        received, _ = await served.exchange([], has_end=True)
        assert received.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        assert b"retry-after: 1\r\n" in received
        for _, writer in kept:
            writer.close()
        await served.wait_for_nobody()
        assert await is_fine(served)


async def is_fine(served: Served) -> bool:
    received, _ = await served.exchange([READ, LAST])
    return received.count(b"HTTP/1.1 200") == 1

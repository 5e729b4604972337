"""The fast path and the endpoints get the same bytes, and must answer with the same bytes.

Two services with their own stores get equal clocks, equal random numbers and equal requests; one
has the fast path and the other has not. Whatever is sent, in whatever pieces, both must answer
alike and leave the connection alike, open or closed.
"""

import asyncio
import fcntl
import inspect
import itertools
import json
import random
import re
import secrets
import termios
from array import array
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from footfall import ids, routes
from footfall.asgi import create_app, create_metrics, policy_of
from footfall.config import Settings
from footfall.data.store import Store
from footfall.driver.client import connect
from footfall.http.connection import BODY_SECONDS
from footfall.http.response import Response
from footfall.limits.clients import PoolClient

# Loaded now, since the first comment would take long otherwise.
from footfall.render import markdown, sanitize  # noqa: F401
from footfall.routes import operations
from footfall.site import Site
from footfall.table.fast import FastRequest
from footfall.table.fast_cycle import protocol_of
from footfall.telemetry.metrics import Metrics
from tests.conftest import Clock
from tests.support import extent
from tests.support.servers import RealServer
from tests.support.sites import site_of

DATE = [(b"date", b"Sat, 21 Nov 2026 00:00:00 GMT")]
LAST = b"GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

# In so many turns of the loop in which both sides are, what one has read is parsed and answered, if
# nothing else is asked for that.
TURNS = 3
MOST_TURNS = 100
# An answer comes in fewer turns after it was written.
IDLE_TURNS = 10
OPEN, CLOSED, RESET = "open", "closed", "reset"

_numbers = itertools.count()


class Served:
    """One service at a UNIX socket."""

    def __init__(self, path: Path, state: Any, metrics: Metrics) -> None:
        self.path = path
        self.state = state
        self.metrics = metrics

    async def read_all(self) -> None:
        """Wait until it has read what was sent: in the same loop, that is with its next turns."""
        while not self.state.connections:
            await asyncio.sleep(0)
        for _ in range(TURNS):
            await asyncio.sleep(0)

    async def wait_for_nobody(self) -> None:
        while self.state.connections:
            await asyncio.sleep(0)

    async def until_the_end(self, chunks: Sequence[bytes]) -> bytes:
        """All that comes back, if something in the chunks ends the connection."""
        reader, writer = await asyncio.open_unix_connection(str(self.path))
        await write(writer, chunks)
        async with asyncio.timeout(60):
            received = await reader.read()
        writer.close()
        return received

    async def statuses(self, sent: bytes) -> list[bytes]:
        """Send it whole, in two pieces and three times at once, on one connection, which therefore
        stays open: the statuses of the five answers."""
        reader, writer = await asyncio.open_unix_connection(str(self.path))
        found = []
        async with asyncio.timeout(60):
            for chunks, number in (([sent], 1), ([sent[:12], sent[12:]], 1), ([sent * 3], 3)):
                await write(writer, chunks)
                found += [await status(reader) for _ in range(number)]
        writer.close()
        return found

    async def exchange(
        self, chunks: Sequence[bytes], *, has_end: bool = False
    ) -> tuple[bytes, str]:
        """(all that came back, whether the connection was closed, as it will be if it `has_end`)"""
        reader, writer = await asyncio.open_unix_connection(str(self.path))
        received = b""
        try:
            await write(writer, chunks)
            async with asyncio.timeout(60):
                while (data := await self._next(reader, writer, has_end=has_end)) is not None:
                    if not data:
                        return received, CLOSED
                    received += data
                return received, OPEN
        except ConnectionError:
            return received, RESET
        finally:
            writer.close()

    async def _next(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, has_end: bool
    ) -> bytes | None:
        """What comes next; None if it waits for more of a request, and has answered all others."""
        reading, idle = asyncio.ensure_future(reader.read(65536)), 0
        while not reading.done() and (has_end or idle < IDLE_TURNS):
            await asyncio.sleep(0)
            # One that the server has closed is no longer among its connections.
            there = self.state.connections
            is_idle = there and not unread(writer) and all(map(waits_for_more, there))
            idle = idle + 1 if is_idle else 0
        if not reading.done():
            reading.cancel()
            return None
        return reading.result()


def waits_for_more(connection: Any) -> bool:
    """Whether a connection does nothing until its client sends more."""
    if connection.is_done:
        is_ending = connection.is_refused or connection.transport.is_closing()
        return not connection.pipeline and not is_ending
    # An endpoint that waits for the rest of a body.
    return connection.is_in_body and bool(connection.cycle.message_event._waiters)


async def write(writer: asyncio.StreamWriter, chunks: Sequence[bytes]) -> None:
    for chunk in chunks:
        writer.write(chunk)
        # So that the server gets exactly these pieces. One that has closed reads nothing more.
        for _ in range(MOST_TURNS):
            await asyncio.sleep(0)
            if not unread(writer):
                break


def unread(writer: asyncio.StreamWriter) -> int:
    """How much of what was sent the other side of a UNIX socket has not read."""
    size, file = array("i", [0]), writer.get_extra_info("socket").fileno()
    # A closed socket has none.
    if file >= 0:
        fcntl.ioctl(file, termios.TIOCOUTQ, size)
    return size[0]


@asynccontextmanager
async def serve(url: str, path: Path, *, is_fast: bool, **environ: str) -> AsyncIterator[Served]:
    configured = Settings.from_env({"IPQPS": "0", **environ})
    store = Store(connect(url, timeout=60), prefix=f"h{next(_numbers)}", buckets=256)
    await store.create()
    store.data_set_id = b"same"
    service = site_of(configured, store, metrics=create_metrics(configured.compat), clock=Clock())
    policy = policy_of(configured)
    kind = protocol_of(service.served, policy, operations(service.settings.compat), is_fast=is_fast)
    config = uvicorn.Config(
        create_app(configured, service), http=kind, lifespan="off", log_config=None
    )
    config.load()
    state = ServerState()
    state.default_headers = DATE
    server = await asyncio.get_running_loop().create_unix_server(
        lambda: kind(config=config, server_state=state, app_state={}), str(path)
    )
    async with server:
        yield Served(path, state, service.process.metrics)
        for connection in list(state.connections):
            connection.transport.abort()
    await store.redis.close()


class Pair:
    """Both services; whatever is sent is sent to both."""

    def __init__(self, hot: Served, cold: Served) -> None:
        self.hot = hot
        self.cold = cold

    async def agree(self, chunks: Sequence[bytes]) -> bytes:
        """Both answers; fails if they are not alike."""
        hot, cold = await asyncio.gather(self.hot.exchange(chunks), self.cold.exchange(chunks))
        if RESET in (hot[1], cold[1]):
            # The server closed with unread bytes of ours: the kernel may then drop the end of an
            # answer.
            assert OPEN not in (hot[1], cold[1]), chunks
            shorter, longer = sorted((hot[0], cold[0]), key=len)
            assert longer.startswith(shorter), chunks
            return longer
        assert hot == cold, chunks
        return hot[0]


@asynccontextmanager
async def pair(url: str, home: Path, **environ: str) -> AsyncIterator[Pair]:
    async with AsyncExitStack() as stack:
        both = [
            await stack.enter_async_context(
                serve(url, home / f"s{next(_numbers)}", is_fast=is_fast, **environ)
            )
            for is_fast in (True, False)
        ]
        yield Pair(*both)


@pytest.fixture
def no_asgi(monkeypatch: pytest.MonkeyPatch) -> None:
    def passed_on(self: Any, cycle: Any, app: Any) -> None:
        raise AssertionError(cycle.scope)

    monkeypatch.setattr(HttpToolsProtocol, "_start_asgi_task", passed_on)


@pytest.fixture
def equal_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all random numbers equal, so that both services make the same ids."""
    init = ids.IdGenerator.__init__

    def seeded(self: Any) -> None:
        init(self)
        self.dice = random.Random(7)

    def new(self: Any, now_ms: int, path: str) -> str:
        with monkeypatch.context() as patch:
            patch.setattr(secrets, "randbits", self.dice.getrandbits)
            return original(self, now_ms, path)

    original = ids.IdGenerator.new
    monkeypatch.setattr(ids.IdGenerator, "__init__", seeded)
    monkeypatch.setattr(ids.IdGenerator, "new", new)


def request(
    method: str, target: str, body: bytes = b"", *headers: str, version: str = "HTTP/1.1"
) -> bytes:
    lines = [f"{method} {target} {version}", "Host: x", *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


JSON = "Content-Type: application/json"
# The headers of Chromium on a page of the service itself.
BROWSER = (
    "Connection: keep-alive",
    'sec-ch-ua: "Chromium";v="143", "Not A(Brand";v="24"',
    "sec-ch-ua-mobile: ?0",
    'sec-ch-ua-platform: "Linux"',
    "Accept: */*",
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/143.0.0.0 Safari/537.36",
    "Origin: https://blog.example",
    "Sec-Fetch-Site: cross-site",
    "Sec-Fetch-Mode: cors",
    "Sec-Fetch-Dest: empty",
    "Referer: https://blog.example/",
    "Accept-Encoding: gzip, deflate, br, zstd",
    "Accept-Language: en-US,en;q=0.9",
)
COUNT = request("POST", "/api/article", b'{"path":"/a"}', JSON)
READ = request("GET", "/api/article?path=/a,/b&type=time,reaction0")
LIST = request("GET", "/api/comment?path=/p&pageSize=2")
MADE = Response(201, b"made", type=b"text/plain")

TARGETS = (
    "/api/article?path=/a",
    "/article?path=/a",
    "/api/article?path=%2Fa,/b&type=time,reaction0",
    "/article?path=/a&path=/b",
    "/api/article",
    "/article?path=",
    "/api/article?type=bogus&path=/a",
    "/article?path=%zz&lang=x",
    "/api/comment?path=/p",
    "/comment?path=/p&sortBy=like_desc",
    "/comment?path=/p&page=9",
    "/api/comment?path=/p&page=x",
    "/api/comment?type=count",
    "/comment?type=recent",
    "/api/comment?type=recent&count=2",
    "/comment?type=count&url=/p,/q",
    "/comment?type=count&path=/p",
    "/comment?type=bogus&path=/p",
    "/comment?path=/p&id=1",
    "/comment?type=recent&count=99",
    "/comment",
    "/article/",
    "/api/articles",
    "http://x/api/article?path=/a",
    "/article?path=/a#x",
    "/article?path=" + "x" * 2100,
    "/token",
    "/",
)
BODIES = (
    b"",
    b'{"path":"/a"}',
    b'{"path":"/a","type":"reaction0","action":"desc"}',
    b'{"path":"/a","action":"desc"}',
    b'{"path":""}',
    b'{"path":"/a","type":["time"]}',
    b"{",
    b"[]",
    b'[{"path":"/a"},{"path":"/b"}]',
    b'{"paths":["/a","/b"]}',
    b"path=/a",
    b"null",
    b"\xff",
)
HEADERS = (
    JSON,
    "content-type: text/plain;charset=UTF-8",
    "Content-Type: application/x-www-form-urlencoded",
    "Proxy-Connection: close",
    "Proxy-Connection: keep-alive",
    "Connection: keep-alive",
    "Connection: close",
    "connection: Keep-Alive",
    "CONNECTION: upgrade",
    "Expect: 100-continue",
    "Upgrade: websocket",
    "Authorization: Bearer undefined",
    "If-None-Match: *",
    'If-None-Match: "x"',
    "Origin: https://blog.example",
    "Accept: */*",
    "Transfer-Encoding: chunked",
    "X-Forwarded-For: 192.0.2.1",
    "x-forwarded-for: 192.0.2.2",
    "If-None-Match: *, *",
    "Content-Type: text/html",
    "Content-Length: 3",
    "Content-Length: 0",
    "X-Folded: a\r\n b",
    "X-Tab:\tx\t",
    "Content-Encoding: gzip",
    "Bad Name: x",
    "\r\n".join(BROWSER),
    "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 192.0.2.2",
    "X-Forwarded-For: " + "192.0.2.7, " * 40 + "192.0.2.8",
    "TE: trailers",
    "NoColon",
    "X-Empty:",
    " Leading: x",
)

requests = st.builds(
    request,
    st.sampled_from(("GET", "POST", "HEAD", "PUT", "OPTIONS", "get", "BREW")),
    st.sampled_from(TARGETS),
    st.sampled_from(BODIES),
)
odd_requests = st.builds(
    lambda method, target, body, headers, version: request(
        method, target, body, *headers, version=version
    ),
    st.sampled_from(("GET", "POST")),
    st.sampled_from(TARGETS),
    st.sampled_from(BODIES),
    st.lists(st.sampled_from(HEADERS), max_size=3),
    st.sampled_from(("HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "http/1.1")),
)

TRAILERS = (
    "",
    "X: y\r\n",
    "X-Forwarded-For: 192.0.2.9\r\n",
    "Content-Type: text/html\r\n",
    "Bad\r\n",
    "Content-Length: 3\r\n",
    "X: y\r\n" * 3000,
)
chunked_requests = st.builds(
    lambda target, body, trailers, end: (
        request("POST", target, b"", JSON, "Transfer-Encoding: chunked")
        + (b"%x;a=b\r\n%b\r\n" % (len(body), body) if body else b"")
        + end
        + trailers.encode()
        + b"\r\n"
    ),
    st.sampled_from(TARGETS),
    st.sampled_from(BODIES),
    st.sampled_from(TRAILERS),
    st.sampled_from((b"0\r\n", b"0\r\n", b"0\r\n", b"x\r\n", b"")),
)


@st.composite
def sendings(draw: st.DrawFn) -> list[bytes]:
    """One to three requests on one connection, cut anywhere or nowhere."""
    stream = (
        b"".join(draw(st.lists(requests | odd_requests | chunked_requests, min_size=1, max_size=3)))
        + LAST
    )
    cuts = sorted(draw(st.lists(st.integers(1, len(stream) - 1), max_size=4)))
    return [stream[a:b] for a, b in itertools.pairwise([0, *cuts, len(stream)]) if a < b]


async def seed(both: Pair) -> None:
    for n in range(3):
        body = json.dumps({"comment": f"hello {n}", "url": "/p", "nick": "Ann"}).encode()
        sent = [request("POST", "/comment", body, JSON), LAST]
        # The first comments may take long.
        hot, cold = await asyncio.gather(
            both.hot.until_the_end(sent), both.cold.until_the_end(sent)
        )
        assert hot == cold


@pytest.fixture
def url(servers: dict[str, RealServer]) -> str:
    return servers["valkey"].url


async def test_plain_requests_take_the_fast_path(
    url: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home / f"s{next(_numbers)}"
    async with serve(url, path, is_fast=True) as hot:

        def passed_on(self: Any, cycle: Any, app: Any) -> None:
            raise AssertionError(cycle.scope)

        await hot.exchange([LIST, LAST])
        monkeypatch.setattr(HttpToolsProtocol, "_start_asgi_task", passed_on)
        text = request("POST", "/article", b'{"path":"/a"}', "Content-Type: text/plain")
        number = request("GET", "/api/comment?type=count&url=/p,/q")
        newest = request("GET", "/comment?type=recent&count=3", b"", *BROWSER)
        # The connection stays open, as the next request shows.
        reader, writer = await asyncio.open_unix_connection(str(path))
        async with asyncio.timeout(60):
            for sent in (COUNT, text, READ, READ.replace(b"/api", b""), LIST, number, newest):
                for chunks in ([sent], [sent[:30], sent[30:]], [sent[:-2], sent[-2:]]):
                    await write(writer, chunks)
                    assert await status(reader) == b"200 OK", sent
            await write(writer, [COUNT * 3 + READ + LIST])
            assert [await status(reader) for _ in range(5)] == [b"200 OK"] * 5
        writer.close()


async def status(reader: asyncio.StreamReader) -> bytes:
    """Read one answer, whose status this is."""
    head = await reader.readuntil(b"\r\n\r\n")
    (length,) = re.findall(rb"(?i)\r\ncontent-length: (\d+)", head)
    await reader.readexactly(int(length))
    return head.partition(b"\r\n")[0].removeprefix(b"HTTP/1.1 ")


@pytest.mark.parametrize("waits", [False, True], ids=["at once", "later"])
async def test_an_operation_may_make_its_whole_response(
    url: str, home: Path, monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    async def later(client: PoolClient) -> Response:
        return MADE

    def made(site: Site, parsed: object) -> FastRequest:
        return FastRequest(lambda numbers: later if waits else MADE)

    monkeypatch.setattr(routes, "TABLE", [replace(routes.TABLE[0], fast=made)])
    async with serve(url, home / f"s{next(_numbers)}", is_fast=True) as served:
        answer = await served.until_the_end([READ.replace(b"/api", b"") + LAST])
    assert answer.startswith(b"HTTP/1.1 201 Created\r\n")
    assert b"\r\ncontent-type: text/plain\r\n" in answer
    # The connection stays open for the next request.
    assert b"\r\n\r\nmadeHTTP/1.1 404 Not Found\r\n" in answer


@pytest.mark.parametrize("waits", [False, True], ids=["at once", "later"])
async def test_an_answer_that_cannot_be_said_is_an_error_and_no_hang(
    url: str, home: Path, monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    async def later(client: PoolClient) -> object:
        return object()

    def made(site: Site, parsed: object) -> FastRequest:
        return FastRequest(lambda numbers: later if waits else object())

    monkeypatch.setattr(routes, "TABLE", [replace(routes.TABLE[0], fast=made)])
    async with serve(url, home / f"s{next(_numbers)}", is_fast=True) as served:
        answer = await served.until_the_end([READ.replace(b"/api", b"") + LAST])
    assert answer.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")


@pytest.mark.usefixtures("equal_chance")
async def test_all_answer_alike_whatever_is_sent(url: str, home: Path) -> None:
    loop = asyncio.get_running_loop()
    async with pair(url, home) as both:
        await seed(both)

        @settings(
            max_examples=120 if extent.ALL else 40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(sendings())
        def check(chunks: list[bytes]) -> None:
            asyncio.run_coroutine_threadsafe(both.agree(chunks), loop).result(30)

        await asyncio.to_thread(check)


@pytest.mark.usefixtures("equal_chance")
@pytest.mark.parametrize("sent", [COUNT, READ, LIST], ids=["count", "read", "list"])
async def test_a_request_may_be_cut_at_every_byte(url: str, home: Path, sent: bytes) -> None:
    async with pair(url, home) as both:
        await seed(both)
        for i in range(1, len(sent)):
            answer = await both.agree([sent[:i], sent[i:], LAST])
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.usefixtures("equal_chance")
async def test_pipelined_requests_are_answered_in_order(url: str, home: Path) -> None:
    async with pair(url, home) as both:
        await seed(both)
        for size in (1, 2, 7, 50, 1000):
            stream = (COUNT + READ + LIST + request("GET", "/token")) * 3 + LAST
            chunks = [stream[i : i + size] for i in range(0, len(stream), size)]
            answer = await both.agree(chunks)
            assert answer.count(b"HTTP/1.1 200 OK\r\n") == 12


@pytest.mark.rare
@pytest.mark.usefixtures("equal_chance")
async def test_the_recorded_conversations_are_answered_alike(url: str, home: Path) -> None:
    path = Path(__file__).parents[1] / "conformance/exchanges.jsonl"
    async with pair(url, home) as both:
        for line in path.read_text().splitlines():
            sent = json.loads(line)["request"]
            body = sent.get("body")
            if "{{" in line or (isinstance(body, dict) and "$long_string" in str(body)):
                continue
            if (sent["method"], sent["path"].removeprefix("/api")) == ("POST", "/token"):
                # No two logins have the same token.
                continue
            raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            headers = [f"{name}: {value}" for name, value in sent["headers"].items()]
            target = sent["path"]
            if not target.isascii() or " " in target:
                continue
            chunk = request(sent["method"], target, raw if body is not None else b"", *headers)
            await both.agree([chunk, LAST])


@pytest.mark.usefixtures("equal_chance")
async def test_an_unchanged_page_is_304_in_both(url: str, home: Path) -> None:
    async with pair(url, home) as both:
        await seed(both)
        answer = await both.agree([LIST, LAST])
        tag = answer.partition(b"etag: ")[2].partition(b"\r\n")[0].decode()
        again = request("GET", "/api/comment?path=/p&pageSize=2", b"", f"If-None-Match: {tag}")
        assert (await both.agree([again, LAST])).startswith(b"HTTP/1.1 304 Not Modified\r\n")
        body = json.dumps({"comment": "news", "url": "/p"}).encode()
        await both.agree([request("POST", "/comment", body, JSON), LAST])
        assert (await both.agree([again, LAST])).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.usefixtures("equal_chance")
async def test_secure_domains_hold_in_both(url: str, home: Path) -> None:
    async with pair(url, home, SECURE_DOMAINS="blog.example") as both:
        for header, status in (
            ("Origin: https://blog.example", b"200"),
            ("Origin: https://evil.example", b"403"),
            ("Referer: https://blog.example/x", b"200"),
            ("Accept: */*", b"403"),
        ):
            for sent in (
                request("POST", "/api/article", b'{"path":"/a"}', JSON, header),
                request("GET", "/api/article?path=/a", b"", header),
                request("GET", "/comment?path=/p", b"", header),
            ):
                assert (await both.agree([sent, LAST])).startswith(b"HTTP/1.1 " + status)


async def test_headers_may_be_sixteen_kilobytes_and_no_more(url: str, home: Path) -> None:
    async with pair(url, home) as both:
        fits = request("GET", "/article?path=/a", b"", "X-Long: " + "x" * 16_000)
        assert (await both.agree([fits, LAST])).startswith(b"HTTP/1.1 200")
        for sent in (
            [request("GET", "/article?path=/a", b"", "X-Long: " + "x" * 17_000)],
            [b"GET /article?path=/a HTTP/1.1\r\n", *[b"X: " + b"y" * 1000 + b"\r\n"] * 17],
            [b"GET /article?path=" + b"x" * 20_000],
        ):
            answer = await both.agree(sent)
            assert answer.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")


async def test_a_body_does_not_count_as_headers_of_the_next_request(url: str, home: Path) -> None:
    async with pair(url, home) as both:
        body = json.dumps({"paths": ["x" * 2000] * 30}).encode()
        first = request("POST", "/api/article", body, JSON)
        answer = await both.agree([first[:200], first[200:] + COUNT[:40], COUNT[40:] + LAST])
        assert answer.count(b"HTTP/1.1 200 OK\r\n") == 2


@pytest.mark.parametrize("target", ["http://x:y/", "http://x"])
async def test_a_malformed_url_is_refused_wherever_its_request_is_cut(
    url: str, home: Path, caplog: pytest.LogCaptureFixture, target: str
) -> None:
    async with pair(url, home) as both:
        sent = request("POST", target, b'{"path":"/a"}', JSON)
        for cut in (len(sent) - 13, len(sent) - 1, len(sent)):
            answer = await both.agree([sent[:cut], sent[cut:]])
            assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert {record.name for record in caplog.records} == {"uvicorn.error"}


async def test_silent_and_half_sent_connections_are_closed(url: str, home: Path) -> None:
    async with pair(url, home) as both:
        for served in (both.hot, both.cold):
            for sent in (b"", COUNT, b"GET /article?path=", COUNT[:-5]):
                reader, writer = await asyncio.open_unix_connection(str(served.path))
                writer.write(sent)
                if sent == COUNT:
                    await reader.readuntil(b"]}")
                await served.read_all()
                (connection,) = served.state.connections
                since = connection.since
                connection.close_if_late(since + 5, idle_seconds=5)
                assert not connection.transport.is_closing()
                connection.close_if_late(since + 6, idle_seconds=5)
                # A body may take its time, up to a limit.
                assert connection.transport.is_closing() == (sent != COUNT[:-5])
                connection.close_if_late(since + BODY_SECONDS + 1, idle_seconds=5)
                said = await reader.read()
                assert said.startswith(b"HTTP/1.1 408 ") == (sent == COUNT[:-5])
                writer.close()
                connection.transport.abort()
                await served.wait_for_nobody()


def test_uvicorns_protocol_has_the_parts_that_we_rely_on() -> None:
    """If this fails, uvicorn has changed: read its protocol again before allowing the version."""
    for name, parameters in {
        "connection_made": ["self", "transport"],
        "data_received": ["self", "data"],
        "on_message_begin": ["self"],
        "on_headers_complete": ["self"],
        "on_header": ["self", "name", "value"],
        "on_body": ["self", "body"],
        "on_response_complete": ["self"],
        "_start_asgi_task": ["self", "cycle", "app"],
        "on_message_complete": ["self"],
        "shutdown": ["self"],
        "eof_received": ["self"],
        "pause_writing": ["self"],
        "resume_writing": ["self"],
        "_unset_keepalive_if_required": ["self"],
        "_unsupported_upgrade_warning": ["self"],
    }.items():
        found = inspect.signature(getattr(HttpToolsProtocol, name)).parameters
        assert list(found) == parameters, name
    source = inspect.getsource(HttpToolsProtocol)
    for used in (
        "self.cycle",
        "self.pipeline",
        "self.connections",
        "self.parser",
        "self.flow",
        "self.headers",
        "self.url",
        "response_complete",
        "server_state.default_headers",
    ):
        assert used in source
    source = inspect.getsource(RequestResponseCycle)
    for used in (
        "self.transport.write",
        "self.transport.close()",
        "self.transport.is_closing()",
        "self.more_body",
        "self.keep_alive",
        "self.message_event",
        "self.response_started",
    ):
        assert used in source

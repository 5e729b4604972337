"""Clients that come while a service stops: each is answered, or refused a connection."""

import asyncio
import contextlib
import os
import signal
import socket
from collections import Counter
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from footfall.asgi import policy_of
from footfall.config import Settings
from footfall.http.connection import USED_CONNECTION_GRACE_SECONDS
from footfall.table.fast_cycle import protocol_of
from tests.conftest import Site
from tests.support.servers import wait_until
from tests.support.serving import SOURCES, Serving, serving
from tests.support.workers import workers

# So many that the service never has accepted all who wait, unless it keeps further ones away.
CLIENTS = 300
BUSY_ANSWERS = 1_000
REQUEST = b"GET /article?path=/a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"


async def opened(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if url.startswith("unix:"):
        return await asyncio.open_unix_connection(url.removeprefix("unix:"))
    host, _, port = url.removeprefix("http://").partition(":")
    return await asyncio.open_connection(host, int(port))


async def come_again_and_again(url: str, seen: Counter[str]) -> None:
    """Send requests on one new connection after the other, until no connection is accepted."""
    while True:
        try:
            reader, writer = await opened(url)
        except (ConnectionRefusedError, FileNotFoundError):
            seen["refused"] += 1
            return
        with contextlib.closing(writer):
            try:
                writer.write(REQUEST)
                answer = await reader.read()
            except ConnectionError:
                answer = b""
        seen["answered" if answer.startswith(b"HTTP/1.1 200 ") else "cut"] += 1


@pytest.mark.parametrize(
    ("workers", "is_path"),
    [
        ("1", False),
        ("2", True),
        pytest.param("1", True, marks=pytest.mark.rare),
        pytest.param("2", False, marks=pytest.mark.rare),
    ],
)
async def test_no_accepted_client_is_dropped_when_a_busy_service_stops(
    own: Path, workers: str, is_path: bool
) -> None:
    more = {"UDS": str(own / "s.sock")} if is_path else {}
    with serving(own / "s", WORKERS=workers, **more) as served:
        seen = Counter[str]()
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            for _ in range(CLIENTS):
                group.create_task(come_again_and_again(served.url, seen))
            while seen["answered"] < BUSY_ANSWERS:
                await asyncio.sleep(0.01)
            code, _ = await asyncio.to_thread(served.stop)
        assert (code, seen["cut"], seen["refused"]) == (0, 0, CLIENTS)


async def test_a_connection_ends_soon_after_its_last_stream_however_long_clients_keep_it(
    site: Site,
) -> None:
    end = asyncio.Event()

    async def stream(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"on", "more_body": True})
        await end.wait()
        await send({"type": "http.response.body", "body": b""})

    config = uvicorn.Config(stream, timeout_keep_alive=3_600, log_config=None, ws="none")
    config.load()
    kind = protocol_of(site.service.served, policy_of(Settings.from_env({})), {}, is_fast=False)
    protocol = kind(config=config, server_state=ServerState(), app_state={})
    here, there = socket.socketpair()
    await asyncio.get_running_loop().connect_accepted_socket(lambda: protocol, there)
    reader, writer = await asyncio.open_connection(sock=here)
    with contextlib.closing(writer):
        writer.write(REQUEST.replace(b"connection: close\r\n", b""))
        async with asyncio.timeout(60):
            await reader.readuntil(b"on")
            protocol.shutdown()
            # The event loop runs timers in their order: an idle connection would be closed by then.
            looked = asyncio.Event()
            asyncio.get_running_loop().call_later(USED_CONNECTION_GRACE_SECONDS, looked.set)
            await looked.wait()
            assert not protocol.transport.is_closing()
            end.set()
            await reader.read()


def connected(served: Serving) -> socket.socket:
    host, _, port = served.url.removeprefix("http://").partition(":")
    connection = socket.create_connection((host, int(port)))
    connection.settimeout(60)
    return connection


def read_answer(connection: socket.socket) -> bytes:
    """Read one answer with a single digit, after which the connection stays open."""
    answer = b""
    while not answer.endswith(b"\r\n\r\n0"):
        assert (more := connection.recv(65536)), answer
        answer += more
    return answer


def read_all(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize("options", [[], ["--no-fast-path"]], ids=["fast path", "endpoints"])
def test_a_client_that_has_connected_and_sent_nothing_yet_is_answered_and_told_of_the_end(
    own: Path, options: list[str]
) -> None:
    with serving(own / "s", *options) as served:
        with connected(served) as late, connected(served) as idle:
            idle.sendall(REQUEST.replace(b"connection: close\r\n", b""))
            assert read_answer(idle).startswith(b"HTTP/1.1 200 ")
            assert served.process is not None
            served.process.send_signal(signal.SIGTERM)
            # The service closes the idle connection when its end starts.
            assert idle.recv(65536) == b""
            late.sendall(REQUEST.replace(b"connection: close\r\n", b""))
            answer = read_all(late)
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b"\r\nconnection: close\r\n" in answer
        assert served.process.wait(20) == 0


def test_a_request_on_an_open_connection_at_the_time_of_the_signal_is_answered(own: Path) -> None:
    with serving(own / "s") as served, connected(served) as kept:
        ask = REQUEST.replace(b"connection: close\r\n", b"")
        kept.sendall(ask)
        assert read_answer(kept).startswith(b"HTTP/1.1 200 ")
        assert served.process is not None
        # While frozen, the service gets request and signal together.
        os.kill(served.process.pid, signal.SIGSTOP)
        kept.sendall(ask)
        served.process.send_signal(signal.SIGTERM)
        os.kill(served.process.pid, signal.SIGCONT)
        assert read_all(kept).startswith(b"HTTP/1.1 200 ")
        assert served.process.wait(20) == 0


def test_a_client_that_connects_and_sends_nothing_does_not_delay_the_end(own: Path) -> None:
    with serving(own / "s") as served, connected(served), connected(served) as half:
        half.sendall(REQUEST[:20])
        assert served.stop()[0] == 0


@pytest.mark.rare
def test_a_single_worker_that_is_stopped_leaves_the_shared_socket_to_the_others(own: Path) -> None:
    path = own / "s.sock"

    def status() -> int:
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path))) as client:
            return client.get("http://x/livez").status_code

    with serving(own / "s", UDS=str(path), WORKERS="2") as served:
        assert status() == 200
        first = min(workers(served))
        os.kill(first, signal.SIGTERM)
        wait_until(lambda: first not in workers(served), "one of them to end")
        assert status() == 200
        wait_until(lambda: len(workers(served)) == 2, "it to be replaced")
        assert served.stop()[0] == 0


# As the first module that Python loads, so that workers end before they have started; their parent
# need not wait until it starts the next one.
DYING = """
import os, sys
if "--as-worker" in sys.orig_argv:
    os.write(2, b"I am no more\\n")
    os._exit(3)
from footfall.server import workers
workers.PAUSE_SECONDS = 0.01
"""


@pytest.mark.rare
@pytest.mark.parametrize("is_path", [False, True], ids=["port", "path"])
def test_workers_that_die_at_once_again_and_again_end_the_service_in_a_sentence(
    own: Path, is_path: bool
) -> None:
    own.mkdir(exist_ok=True)
    (own / "sitecustomize.py").write_text(DYING)
    path = f"{own}:{SOURCES}"
    more = {"UDS": str(own / "s.sock")} if is_path else {}
    code, output = Serving(own / "s", WORKERS="2", PYTHONPATH=path, **more).ask("serve")
    lines = output.splitlines()
    assert code == 1
    assert lines[-1] == "Error: a worker died at once 10 times in a row, with exit code 3"
    assert "Traceback" not in output
    # There are two workers; the slower one does not try ten times itself.
    assert 10 < lines.count("I am no more") <= 20

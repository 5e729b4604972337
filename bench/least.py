"""The least that a Python server needs to count views: the measure for this service's own code.

    python bench/least.py PORT SOCKET

It reads and raises one counter a request as the service does: uvicorn's parser, one write to Redis
for all that a turn of the event loop asks, a script for increments, bucketed keys, an allowance for
each address, a histogram of durations, an ETag.

It leaves out what a server needs and an ordinary request does not: limits to head and body,
requests that only ASGI can answer, pipelining, back pressure, time-outs, trusted networks (any
X-Forwarded-For is trusted), tokens in Redis (an allowance holds for this process alone),
accounts, Redis Cluster, and a connection to Redis that breaks.
"""

import asyncio
import gc
import sys
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar, cast
from urllib.parse import parse_qs, urlsplit
from zlib import crc32

import hiredis
import orjson
import uvicorn
import uvloop
from redis import Redis
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

SCRIPT = Path(__file__).parent / "programs" / "increments.lua"
BUCKETS = 65_536
MAX_PREPARED = 20_000
MAX_ADDRESSES = 65_536
# The service's default: so many changes a second, saved up for ten seconds.
ALLOWED_CHANGES, ALLOWANCE_SECONDS = 1_000, 10
# Seconds, each the upper end of a bar of the histogram; one more bar has what took longer.
BOUNDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
# All other headers are dropped.
DECIDING = frozenset({b"if-none-match", b"x-forwarded-for"})

HEAD = (
    b"date: %b\r\ncontent-type: application/json; charset=utf-8\r\nx-waline-version: 1.39.3\r\n"
    b"x-content-type-options: nosniff\r\naccess-control-allow-origin: *\r\nvary: Origin\r\n"
)
CHANGED = b"HTTP/1.1 200 OK\r\n" + HEAD + b"content-length: %d\r\n\r\n%b"
CACHING = b'etag: "%d"\r\ncache-control: no-cache\r\n\r\n'
FOUND = b"HTTP/1.1 200 OK\r\n" + HEAD + b"content-length: %d\r\n" + CACHING + b"%b"
NOT_MODIFIED = b"HTTP/1.1 304 Not Modified\r\n" + HEAD + CACHING
TOO_MANY = b"HTTP/1.1 429 Too Many Requests\r\n" + HEAD + b"content-length: 0\r\n\r\n"
BODY = b'{"errno":0,"errmsg":"","data":[{"time":%d}]}'

Done = Callable[[Any], None]
# Packed for Redis: a change as its key and its arguments, a read as its whole command.
Prepared = tuple[bytes, bytes] | bytes


def bulk(word: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(word), word)


def prepare(method: bytes, url: bytes, body: bytes) -> Prepared:
    """Raises KeyError, TypeError or ValueError for what is neither a change nor a read of one
    counter."""
    target = urlsplit(url.decode())
    if target.path != "/api/article":
        raise ValueError("there are only counters")
    is_change = method == b"POST"
    fields = orjson.loads(body) if is_change else {}
    path = fields["path"] if is_change else parse_qs(target.query)["path"][0]
    counter = f"time {path}".encode()
    key, field = bulk(b"{%x}:counts" % (crc32(counter) % BUCKETS)), bulk(counter)
    if is_change:
        return key, field + bulk(b"-1" if fields.get("action") == "desc" else b"1")
    return b"*3\r\n$4\r\nHGET\r\n" + key + field


class Batches(asyncio.Protocol):
    """A connection to Redis, which gets all that a turn of the event loop asks in one write."""

    def __init__(self, script: str) -> None:
        self._script = b"$7\r\nEVALSHA\r\n" + bulk(script.encode())
        self._reader = hiredis.Reader(notEnoughData=self)
        self._call_soon = asyncio.get_running_loop().call_soon
        self._changes: list[tuple[bytes, bytes]] = []
        self._changed: list[Done] = []
        self._commands: list[bytes] = []
        self._found: list[Done] = []
        # Who gets the next replies, in turn; those whose changes share a script share one.
        self._waiting: deque[list[Done] | Done] = deque()
        self._will_send = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def ask(self, prepared: Prepared, done: Done) -> None:
        if isinstance(prepared, bytes):
            self._commands.append(prepared)
            self._found.append(done)
        else:
            self._changes.append(prepared)
            self._changed.append(done)
        if not self._will_send:
            self._will_send = True
            self._call_soon(self._send)

    def _send(self) -> None:
        self._will_send = False
        words: list[bytes] = []
        if n := len(self._changes):
            words += (b"*%d\r\n" % (3 + 3 * n), self._script, bulk(b"%d" % n))
            words += [key for key, _ in self._changes]
            words += [arguments for _, arguments in self._changes]
            self._waiting.append(self._changed)
            self._changes, self._changed = [], []
        if self._commands:
            words += self._commands
            self._waiting += self._found
            self._commands, self._found = [], []
        self._transport.write(b"".join(words))

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not self:
            waiting = self._waiting.popleft()
            if isinstance(waiting, list):
                for done, count in zip(waiting, reply, strict=True):
                    done(count)
            else:
                waiting(reply)


class Allowances:
    """How often each address has changed a counter lately."""

    def __init__(self) -> None:
        self.taken: dict[bytes, int] = {}
        self._end = 0.0

    def take(self, address: bytes, now: float) -> bool:
        """Is one more change allowed?"""
        if now >= self._end or len(self.taken) >= MAX_ADDRESSES:
            self.taken.clear()
            self._end = now + ALLOWANCE_SECONDS
        taken = self.taken[address] = self.taken.get(address, 0) + 1
        return taken <= ALLOWED_CHANGES


class Least(HttpToolsProtocol):
    """A visitor's connection, which sends one request at a time."""

    redis: ClassVar[Batches]
    allowances: ClassVar = Allowances()
    prepared: ClassVar[dict[tuple[bytes, bytes, bytes], Prepared]] = {}
    histogram: ClassVar = [0] * (len(BOUNDS) + 1)

    def on_message_begin(self) -> None:
        self.url = self._body = b""
        self._deciding: dict[bytes, bytes] = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name in DECIDING:
            self._deciding[name] = value

    def on_headers_complete(self) -> None:
        self._method = self.parser.get_method()
        self._is_last = not self.parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        words = self._method, self.url, self._body
        prepared = self.prepared.get(words)
        if prepared is None:
            try:
                prepared = prepare(*words)
            except (KeyError, TypeError, ValueError):
                self.send_400_response("This is not a request for one counter.")
                return
            if len(self.prepared) >= MAX_PREPARED:
                self.prepared.clear()
            self.prepared[words] = prepared
        self._started = now = monotonic()
        self._is_change = isinstance(prepared, tuple)
        visitor = self._deciding.get(b"x-forwarded-for") if self._is_change else None
        # Without a proxy it is the load generator, which counts for all visitors.
        if visitor and not self.allowances.take(visitor, now):
            self._send(TOO_MANY % self.server_state.default_headers[0][1])
            return
        self.redis.ask(prepared, self._answer)

    def _answer(self, reply: int | bytes | None) -> None:
        # uvloop raises for a closed connection, and would then close the one to Redis.
        if self.transport.is_closing():
            return
        # uvicorn makes it once a second.
        date = self.server_state.default_headers[0][1]
        count = int(reply or 0)
        body = BODY % count
        if self._is_change:
            self._send(CHANGED % (date, len(body), body))
        elif self._deciding.get(b"if-none-match") == b'"%d"' % count:
            self._send(NOT_MODIFIED % (date, count))
        else:
            self._send(FOUND % (date, len(body), count, body))

    def _send(self, answer: bytes) -> None:
        self.histogram[bisect_left(BOUNDS, monotonic() - self._started)] += 1
        self.transport.write(answer)
        if self._is_last:
            self.transport.close()


async def no_application(scope: Any, receive: Any, send: Any) -> None:
    """uvicorn wants one, but no request gets there."""


async def main(port: int, socket: str) -> None:
    with closing(Redis(unix_socket_path=socket)) as redis:
        script = str(redis.script_load(SCRIPT.read_text()))
    loop = asyncio.get_running_loop()
    _, Least.redis = await loop.create_unix_connection(lambda: Batches(script), socket)
    config = uvicorn.Config(
        no_application,
        port=port,
        http=Least,
        lifespan="off",
        ws="none",
        server_header=False,
        access_log=False,
        log_level="warning",
    )
    # As the service does: a full collection would look at every module.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    await uvicorn.Server(config).serve()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), sys.argv[2]))

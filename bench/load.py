"""Requests ready to be sent, a load generator, and the verdict whether every count is exact.

Only the standard library and stats.py: `footfall bench` may take this along. The generator is one
thread over a selector. Open loop sends at times fixed beforehand and measures from those times, so
a server that stalls is charged for everybody who waited; closed loop sends when an answer is there.
One core of a 2 GHz machine carries about 20,000 requests a second of it, so it is for latencies at
moderate rates; throughput is measured with wrk (wrk.py).
"""

import re
import select
import selectors
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count, cycle
from urllib.parse import urlsplit

from .stats import Histogram

# Where a request takes a number that no other request has, ten digits wide.
MARK = b"\x01"
NUMBER = "%010d"
GRACE_SECONDS = 5.0
RECEIVE = 1 << 18

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.I)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.I)
_BODILESS = (b"204", b"304")


def request(
    method: str, target: str, host: str, headers: Iterable[tuple[str, str]] = (), body: bytes = b""
) -> bytes:
    """A request as it goes over the wire, but for the numbers that take the place of MARKs."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name}: {value}" for name, value in headers]
    if body or method in ("POST", "PUT"):
        length = len(body) + body.count(MARK) * (len(NUMBER % 0) - 1)
        lines += ["Content-Type: application/json", f"Content-Length: {length}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def numbered(template: bytes, number: int) -> bytes:
    return template.replace(MARK, (NUMBER % number).encode())


@dataclass(frozen=True, slots=True)
class Verdict:
    """Is every acknowledged change counted, and nothing else?

    Whoever stops while answers are outstanding cannot know whether those were counted, so anything
    from `accepted` to `accepted + in_flight` is exact.
    """

    accepted: int
    counted: int
    in_flight: int = 0

    @property
    def is_exact(self) -> bool:
        return self.accepted <= self.counted <= self.accepted + self.in_flight

    def __str__(self) -> str:
        said = f"accepted {self.accepted:,}, counted {self.counted:,}"
        if self.is_exact:
            return f"exact ({said}, at most {self.in_flight:,} in flight at the end)"
        if self.counted < self.accepted:
            return f"LOST {self.accepted - self.counted:,} ({said})"
        return f"COUNTED TWICE {self.counted - self.accepted - self.in_flight:,} ({said})"


@dataclass
class Outcome:
    """What a run saw. `accepted` are answers with a 2xx or 304 status."""

    sent: int = 0
    accepted: int = 0
    refused: int = 0
    broken: int = 0
    seconds: float = 0.0
    late: int = 0
    latency: Histogram = field(default_factory=Histogram)

    @property
    def in_flight(self) -> int:
        """Requests of which nobody knows what became."""
        return self.sent - self.accepted - self.refused


class _Connection:
    """One socket with at most one request on its way; later ones wait their turn."""

    def __init__(self, address: tuple[str, int], tls: ssl.SSLContext | None) -> None:
        self._address = address
        self._tls = tls
        self.waiting: deque[tuple[float, bytes]] = deque()
        self.due = 0.0
        self.is_busy = False
        self._received = b""
        self.open()

    def open(self) -> None:
        plain = socket.create_connection(self._address, timeout=GRACE_SECONDS)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = (
            self._tls.wrap_socket(plain, server_hostname=self._address[0]) if self._tls else plain
        )
        self.socket.setblocking(False)
        self._received = b""

    def send(self, due: float, data: bytes) -> None:
        """Raises OSError. Requests are small, so the kernel takes each in one piece."""
        self.due, self.is_busy = due, True
        if self.socket.send(data) != len(data):
            raise OSError("the request did not fit into the socket's buffer")

    def receive(self) -> bytes | None:
        """The status of a complete answer, or None as long as there is none. Raises OSError."""
        while True:
            try:
                piece = self.socket.recv(RECEIVE)
            except (BlockingIOError, ssl.SSLWantReadError):
                return None
            if not piece:
                raise ConnectionResetError("closed before the answer was complete")
            self._received += piece
            if _is_complete(self._received):
                status = self._received[9:12]
                self._received = b""
                self.is_busy = False
                return status

    def close(self) -> None:
        with suppress(OSError):
            self.socket.close()


def _is_complete(answer: bytes) -> bool:
    end = answer.find(b"\r\n\r\n")
    if end < 0:
        return False
    if answer[9:12] in _BODILESS:
        return True
    head = answer[: end + 2]
    if found := _LENGTH.search(head):
        return len(answer) >= end + 4 + int(found[1])
    return bool(_CHUNKED.search(head)) and answer.endswith(b"\r\n0\r\n\r\n")


class Generator:
    """Drives a server with prepared requests over so many connections, for so many seconds.

    `templates` are taken in turn; each MARK in one becomes a number counted on from `first`.
    """

    def __init__(
        self, url: str, templates: Sequence[bytes], *, connections: int, first: int = 0
    ) -> None:
        parts = urlsplit(url)
        is_tls = parts.scheme == "https"
        address = (parts.hostname or "127.0.0.1", parts.port or (443 if is_tls else 80))
        self._tls = ssl.create_default_context() if is_tls else None
        self._requests = _requests(templates, first)
        self._selector = selectors.DefaultSelector()
        self._connections = [_Connection(address, self._tls) for _ in range(connections)]
        for each in self._connections:
            self._selector.register(each.socket, selectors.EVENT_READ, each)
        self.outcome = Outcome()

    def closed(self, seconds: float, tell: Callable[[float], None] | None = None) -> Outcome:
        """Every connection sends its next request when its answer has come."""
        start = time.perf_counter()
        end = start + seconds
        for each in self._connections:
            self._send(each, time.perf_counter(), next(self._requests))
        while (now := time.perf_counter()) < end:
            for each in self._answered(end - now):
                self._send(each, time.perf_counter(), next(self._requests))
            if tell:
                tell(min((now - start) / seconds, 1.0))
        return self._finish(start)

    def open(
        self, rate: float, seconds: float, tell: Callable[[float], None] | None = None
    ) -> Outcome:
        """So many requests a second at times fixed beforehand, whatever the server does."""
        start = time.perf_counter()
        total = int(rate * seconds)
        order = cycle(self._connections)
        planned = 0
        while planned < total:
            now = time.perf_counter()
            due = start + planned / rate
            while due <= now and planned < total:
                self._plan(next(order), due)
                planned += 1
                due = start + planned / rate
            for each in self._answered(max(due - time.perf_counter(), 0.0)):
                self._next(each)
            if tell:
                tell(planned / total)
        return self._finish(start)

    def _plan(self, connection: _Connection, due: float) -> None:
        data = next(self._requests)
        if connection.is_busy:
            self.outcome.late += 1
            connection.waiting.append((due, data))
        else:
            self._send(connection, due, data)

    def _next(self, connection: _Connection) -> None:
        if connection.waiting:
            self._send(connection, *connection.waiting.popleft())

    def _send(self, connection: _Connection, due: float, data: bytes) -> None:
        self.outcome.sent += 1
        try:
            connection.send(due, data)
        except OSError:
            self._reopen(connection)

    def _answered(self, wait: float) -> Iterator[_Connection]:
        """Connections that are free again, after at most so many seconds."""
        # select() takes microseconds; a selector's own time-out is rounded up to a millisecond.
        if isinstance(self._selector, selectors.EpollSelector):
            select.select([self._selector.fileno()], [], [], max(wait, 0))
            wait = 0
        for key, _ in self._selector.select(wait):
            connection: _Connection = key.data
            try:
                status = connection.receive()
            except OSError:
                self._reopen(connection)
                yield connection
                continue
            if status is None:
                continue
            outcome = self.outcome
            outcome.latency.add(int((time.perf_counter() - connection.due) * 1e6))
            if status[:1] == b"2" or status == b"304":
                outcome.accepted += 1
            else:
                outcome.refused += 1
            yield connection

    def _reopen(self, connection: _Connection) -> None:
        self.outcome.broken += 1
        with suppress(KeyError, ValueError):
            self._selector.unregister(connection.socket)
        connection.close()
        connection.is_busy = False
        connection.open()
        self._selector.register(connection.socket, selectors.EVENT_READ, connection)

    def _finish(self, start: float) -> Outcome:
        """Wait for what is still on its way, then stop."""
        end = time.perf_counter()
        self.outcome.seconds = end - start
        while any(each.is_busy or each.waiting for each in self._connections):
            left = end + GRACE_SECONDS - time.perf_counter()
            if left <= 0:
                break
            for each in self._answered(left):
                self._next(each)
        for each in self._connections:
            each.close()
        self._selector.close()
        return self.outcome


def _requests(templates: Sequence[bytes], first: int) -> Iterator[bytes]:
    for template, number in zip(cycle(templates), count(first), strict=False):
        yield numbered(template, number) if MARK in template else template

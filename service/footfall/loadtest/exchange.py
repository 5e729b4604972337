"""HTTP/1.1 for the load generator: requests in bytes, connections, and answers.

Servers may be anybody's, so the size of an answer and the time for it are limited. Requests are not
pipelined; a connection that the server has closed, or will close, is opened anew.
"""

import json
import re
import select
import socket
import ssl
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

# In a template, the place of a number that no other request has, with ten digits.
MARK = b"\x01"
NUMBER = "%010d"
OPEN_SECONDS = 5.0
ANSWER_SECONDS = 10.0
RECEIVE_BYTES = 1 << 18
MAX_HEAD_BYTES = 64 * 1024
# A page of ten threads takes some tens of kilobytes, of very long ones some hundreds.
MAX_ANSWER_BYTES = 8 * 1024 * 1024
# How much of a server's error message is shown.
MAX_SHOWN_CHARACTERS = 200

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.I)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked", re.I)
_CLOSE = re.compile(rb"\r\nconnection:[ \t]*close", re.I)
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,7})[^\r\n]*\r\n")
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")
_SUCCESS = re.compile(rb'"errno"\s*:\s*0\b')
_BODILESS = (204, 304)


def request(
    method: str, target: str, host: str, headers: Iterable[tuple[str, str]] = (), body: bytes = b""
) -> bytes:
    """A request in bytes, which may contain MARKs; Content-Length counts the numbers for them."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name}: {value}" for name, value in headers]
    if body or method in ("POST", "PUT"):
        length = len(body) + body.count(MARK) * (len(NUMBER % 0) - 1)
        lines += ["Content-Type: application/json", f"Content-Length: {length}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def numbered(template: bytes, number: int) -> bytes:
    return template.replace(MARK, (NUMBER % number).encode())


class BadAnswer(OSError):
    """The answer is not HTTP, or too large."""


@dataclass(frozen=True)
class Address:
    """A server's scheme, host and port, and the path that all its paths begin with."""

    scheme: str
    name: str
    port: int
    base: str = ""

    @classmethod
    def parse(cls, url: str) -> "Address":
        """Raises ValueError with a message for the user who typed the URL."""
        try:
            parts = urlsplit(url)
            port = parts.port
            name = (parts.hostname or "").encode("idna").decode()
        except ValueError as error:
            raise ValueError(f"{printable(url)!r} is no address: {error}") from error
        if parts.scheme not in ("http", "https") or not name or not url.isprintable():
            raise ValueError(f"{printable(url)!r} is no address like https://count.example")
        if parts.query or parts.fragment or "@" in parts.netloc:
            raise ValueError("the address must be without password, query and fragment")
        base = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~")
        return cls(parts.scheme, name, port or (443 if parts.scheme == "https" else 80), base)

    @property
    def host(self) -> str:
        """The value of the header Host."""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return name if self.port == (443 if self.tls else 80) else f"{name}:{self.port}"

    @cached_property
    def tls(self) -> ssl.SSLContext | None:
        return ssl.create_default_context() if self.scheme == "https" else None

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}{self.base}"


class Answer(NamedTuple):
    status: int
    head: bytes
    body: bytes
    # True if the server closes the connection after this answer.
    is_last: bool

    def header(self, name: str) -> str:
        found = re.search(rb"\r\n%b:[ \t]*([^\r\n]*)" % re.escape(name.encode()), self.head, re.I)
        return printable(found[1].decode("latin-1")) if found else ""

    @property
    def is_accepted(self) -> bool:
        """Was the request accepted, by status and by errno? Some failures have status 200."""
        if not (200 <= self.status < 300 or self.status == 304):
            return False
        # Inside a string the quotes would be escaped, so this is the envelope's field.
        return b'"errno"' not in self.body or bool(_SUCCESS.search(self.body))

    @property
    def refusal(self) -> str:
        """The status, and the server's error message if it has one."""
        data = self.json()
        words = data.get("errmsg") or "" if isinstance(data, dict) else ""
        if isinstance(words, dict):
            words = "; ".join(map(str, words.values()))
        if not words:
            with suppress(ValueError):
                words = HTTPStatus(self.status).phrase
        return f"HTTP {self.status}" + (f": {printable(str(words))}" if words else "")

    def json(self) -> Any:
        """The body's JSON, None if it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


def printable(text: str) -> str:
    """The beginning of a server's text, without characters that control a terminal."""
    return "".join(each if each.isprintable() else "?" for each in text[:MAX_SHOWN_CHARACTERS])


class Connection:
    """A socket with at most one request in flight. Every method may raise OSError."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._received = b""
        self.socket: socket.socket | None = None
        self.is_busy = False
        # For the owner: when the request was due, if it is a change, and since when it is idle.
        self.due = 0.0
        self.is_change = False
        self.free_since = 0.0

    def open(self) -> None:
        """Connect; this blocks for some round trips, and OPEN_SECONDS at most."""
        self.close()
        address = self._address
        plain = socket.create_connection((address.name, address.port), timeout=OPEN_SECONDS)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            tls = address.tls
            self.socket = tls.wrap_socket(plain, server_hostname=address.name) if tls else plain
            self.socket.setblocking(False)
        except BaseException:
            plain.close()
            raise

    def send(self, message: bytes) -> None:
        """Send a request. It is small, so the kernel takes it in one piece."""
        self.is_busy = True
        self.is_change = message[:1] == b"P"
        if self.socket is None or self.socket.send(message) != len(message):
            raise BadAnswer("the request did not fit into the socket's buffer")

    def receive(self) -> Answer | None:
        """The answer, None until all of it has come; does not block."""
        while self.socket is not None:
            try:
                piece = self.socket.recv(RECEIVE_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError):
                return None
            if not self.is_busy:
                raise ConnectionResetError("closed")
            self._received = self._received + piece if self._received else piece
            answer = _whole(self._received, is_end=not piece)
            if answer is not None:
                self._received = b""
                self.is_busy = False
                return answer
            if not piece:
                raise ConnectionResetError("the connection was closed before the answer was there")
        return None

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
        self.socket = None
        self.is_busy = False
        self._received = b""


def _whole(received: bytes, *, is_end: bool) -> Answer | None:
    """The answer, if these bytes are all of it; with `is_end` no more will come."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        if len(received) > MAX_HEAD_BYTES:
            raise BadAnswer("the server sends headers without end")
        return None
    head = received[: end + 2]
    found = _STATUS.match(head)
    if found is None:
        raise BadAnswer("the server does not speak HTTP/1.1")
    if len(received) > MAX_ANSWER_BYTES:
        raise BadAnswer(f"the server sent an answer of more than {MAX_ANSWER_BYTES >> 20} MiB")
    status, body = int(found[1]), received[end + 4 :]
    is_last = head[7:8] == b"0" or bool(_CLOSE.search(head))
    if status in _BODILESS:
        return Answer(status, head, b"", is_last)
    if length := _LENGTH.search(head):
        expected = int(length[1][:12])
        if expected > MAX_ANSWER_BYTES:
            raise BadAnswer(
                f"the server announced an answer of more than {MAX_ANSWER_BYTES >> 20} MiB"
            )
        return Answer(status, head, body[:expected], is_last) if len(body) >= expected else None
    if _CHUNKED.search(head):
        joined = _joined(body)
        return None if joined is None else Answer(status, head, joined, is_last)
    # Without either header the answer ends when the server closes the connection.
    return Answer(status, head, body, True) if is_end else None


def _joined(chunks: bytes) -> bytes | None:
    """The body of a chunked answer; None until the last chunk has come."""
    pieces: list[bytes] = []
    at = 0
    while found := _CHUNK.match(chunks, at):
        size = int(found[1], 16)
        if not size:
            is_whole = chunks.endswith(b"\r\n\r\n")
            return b"".join(pieces) if is_whole else None
        pieces.append(chunks[found.end() : found.end() + size])
        at = found.end() + size + 2
    return None


class Client:
    """Sends one request after the other, over one connection."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._connection = Connection(address)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def ask(self, message: bytes) -> Answer:
        """Send a request and wait for its answer. Raises OSError."""
        connection = self._connection
        if connection.socket is None:
            connection.open()
        connection.send(message)
        assert connection.socket is not None
        deadline = time.monotonic() + ANSWER_SECONDS
        while (answer := connection.receive()) is None:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([connection.socket], [], [], left)[0]:
                connection.close()
                raise TimeoutError(f"there was no answer within {ANSWER_SECONDS:.0f} seconds")
        if answer.is_last:
            connection.close()
        return answer

"""HTTP/1.1 for the load generator: requests in bytes, connections and responses.

The server may be any, so the size of a response and the time for it are limited. Requests are not
pipelined, and connections are persistent.
"""

import asyncio
import os
import re
import ssl
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlsplit

import httptools
import orjson

# In a template, the place of a number that no other request has, with ten digits.
MARK = b"\x01"
NUMBER = "%010d"
OPEN_SECONDS = 5.0
RESPONSE_SECONDS = 10.0
# Some servers close a connection after two idle seconds, which a request must not cross: it is
# opened again after this time.
IDLE_SECONDS = 1.5
# A page of ten threads takes some tens of kilobytes, of very long ones some hundreds.
MAX_RESPONSE_BYTES = 8 * 1024 * 1024
# How much of a server's error message is shown.
MAX_SHOWN_CHARACTERS = 200

# A response without these ends with its connection.
_LENGTHS = {"content-length", "transfer-encoding"}
_SUCCESS = re.compile(rb'"errno"\s*:\s*0\b')


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


class BadResponse(OSError):
    """The response is not HTTP, too large or incomplete."""


@dataclass(frozen=True)
class Address:
    """A server's scheme, host and port, and the path that all its paths start with."""

    scheme: str
    name: str
    port: int
    base: str = ""

    @classmethod
    def parse(cls, url: str) -> "Address":
        """Raises ValueError with a message for the user who entered the URL."""
        try:
            parts = urlsplit(url)
            port = parts.port
            name = (parts.hostname or "").encode("idna").decode()
        except ValueError as error:
            raise ValueError(f"{printable(url)!r} is not an address: {error}") from error
        if parts.scheme not in ("http", "https") or not name or not url.isprintable():
            raise ValueError(f"{printable(url)!r} is not an address like https://count.example")
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


@dataclass(slots=True)
class Response:
    status: int = 0
    raw_headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""

    @property
    def headers(self) -> dict[str, str]:
        """By their names in lower case, as they can be shown."""
        raw = self.raw_headers
        return {
            str(name, "latin-1").lower(): printable(str(value, "latin-1")) for name, value in raw
        }

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
        text = data.get("errmsg") or "" if isinstance(data, dict) else ""
        if isinstance(text, dict):
            text = "; ".join(map(str, text.values()))
        if not text:
            with suppress(ValueError):
                text = HTTPStatus(self.status).phrase
        return f"HTTP {self.status}" + (f": {printable(str(text))}" if text else "")

    def json(self) -> Any:
        """The body's JSON, None if it is not JSON."""
        try:
            return orjson.loads(self.body)
        except ValueError:
            return None


def printable(text: str) -> str:
    """The start of a server's text, without characters that control a terminal."""
    return "".join(char if char.isprintable() else "?" for char in text[:MAX_SHOWN_CHARACTERS])


class Connection(asyncio.Protocol):
    """Sends one request after the other; also takes the parser's callbacks, `on_…`."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._transport: asyncio.Transport | None = None
        self._pending: asyncio.Future[Response] | None = None
        self._response, self._received = Response(), 0
        self._used_at = 0.0

    @property
    def is_open(self) -> bool:
        is_recent = time.monotonic() - self._used_at < IDLE_SECONDS
        return self._transport is not None and not self._transport.is_closing() and is_recent

    async def open(self) -> None:
        """Raises OSError."""
        self.close()
        self._parser = httptools.HttpResponseParser(self)
        address, loop = self._address, asyncio.get_running_loop()
        async with asyncio.timeout(OPEN_SECONDS):
            self._transport, _ = await loop.create_connection(
                lambda: self, address.name, address.port, ssl=address.tls
            )
        self._used_at = time.monotonic()

    async def ask(self, message: bytes) -> Response:
        """Send a request, and connect first where that is needed. Raises OSError."""
        if not self.is_open:
            await self.open()
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("the connection was closed before the request")
        loop = asyncio.get_running_loop()
        self._pending = loop.create_future()
        self._response, self._received = Response(), 0
        self._transport.write(message)
        timer = loop.call_later(RESPONSE_SECONDS, self._expire)
        try:
            return await self._pending
        finally:
            timer.cancel()
            self._used_at = time.monotonic()

    def close(self) -> None:
        if self._transport:
            self._transport.abort()
        self._transport = self._pending = None

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._fail(BadResponse("the server does not speak HTTP/1.1"))
        if self._received > MAX_RESPONSE_BYTES:
            size = f"{MAX_RESPONSE_BYTES >> 20} MiB"
            self._fail(BadResponse(f"the server sent a response of more than {size}"))

    def connection_lost(self, error: Exception | None) -> None:
        if self._transport is None or not self._transport.is_closing():
            # It is an old connection, closed here, and has been replaced.
            return
        response = self._response
        if self._pending and response.status and not response.headers.keys() & _LENGTHS:
            # It ends with its connection.
            self.on_message_complete()
        self._fail(error or ConnectionResetError("the connection was closed before the response"))

    def _expire(self) -> None:
        self._fail(TimeoutError(f"no response within {RESPONSE_SECONDS:.0f} seconds"))

    def _fail(self, error: Exception) -> None:
        pending = self._pending
        self.close()
        if pending and not pending.done():
            pending.set_exception(error)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._response.raw_headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._response.status = self._parser.get_status_code()

    def on_body(self, data: bytes) -> None:
        self._response.body = self._response.body + data if self._response.body else data

    def on_message_complete(self) -> None:
        if self._response.status < 200:
            self._response = Response()
            return
        pending, self._pending = self._pending, None
        if not self._parser.should_keep_alive():
            # Now, since its end may come after the next request was sent.
            self.close()
        if pending and not pending.done():
            pending.set_result(self._response)


def reason(error: OSError) -> str:
    """What went wrong, for the user."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {(error.reason or str(error)).replace('_', ' ').lower()}"
    if isinstance(error, ConnectionError) and error.errno:
        return os.strerror(error.errno)
    return error.strerror or str(error) or type(error).__name__

"""The protocol class: uvicorn's, with a fast path. Its parser reads all requests.

For a counter, ASGI (a task, a scope, three messages, a router) costs several times the work itself.
So a request is held until the parser has all of it. If it may take the fast path, a cycle of our
own answers it (api/fast_cycle.py). Any request that is unusual, long or has no fast path is
replayed to uvicorn's callbacks and becomes an ASGI request.

uvicorn sets no limit to the headers of a request; here they may be as long as in the reference
server.
"""

import asyncio
import re
from time import monotonic
from typing import Any, ClassVar, Protocol

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..errors import TooLong, Unavailable, Unreadable
from .body import AS_JSON, JSON, kind_of
from .client import Headers, headers_of, is_allowed
from .connection import Connection

# URL and headers together: the limit of Node.js, and so of the reference server.
MAX_HEAD_BYTES = 16 * 1024
# The body of a request that is held.
MAX_HELD_BYTES = 16 * 1024
# Requests of one connection that may wait for the answer to an earlier one.
MAX_PIPELINED = 100
# What uvicorn answers to bytes that are no request.
UNREADABLE = "Invalid HTTP request received."
# Two readers of a request without one Host could take it to be for two services.
NO_HOST = "Host: HTTP/1.1 needs exactly one line of it, with a name or an address"
_HOST = re.compile(rb"([\w.~%-]+|\[[\da-fA-F:.]+\])(:\d{0,5})?")


class Requests(Protocol):
    """A mapping: (method, URL, body) -> what answers that request on the fast path, or None."""

    def __getitem__(self, words: tuple[bytes, bytes, bytes]) -> Any: ...

    def may_have(self, method: bytes, url: bytes) -> bool:
        """Could a request with this method and URL take the fast path, whatever its body is?"""
        ...


class Cycle(Protocol):
    """A request on the fast path, with the attributes that uvicorn expects of its cycles."""

    def __init__(self, connection: "HttpProtocol") -> None: ...

    def take(self, request: Any, headers: Headers) -> None: ...

    def start(self) -> None: ...


class HttpProtocol(Connection):
    """Reads a connection's requests: each takes the fast path, or is passed on to uvicorn."""

    requests: ClassVar[Requests]
    cycle_type: ClassVar[type[Cycle]]

    # The parser calls nothing at a request's first byte: on_url comes early enough.
    on_message_begin: ClassVar[None] = None  # type: ignore[assignment]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # The Host that was found to be one, since a connection's requests have the same; no header
        # has this byte.
        self._host = b"\0"
        # The headers that were read so far, by name, and further lines of names that are repeated.
        self.head: dict[bytes, bytes] = {}
        self._repeated: list[tuple[bytes, bytes]] = []
        self._collect_headers()
        super().__init__(*args, **kwargs)
        self._is_chunked = False
        # True while uvicorn does not know the request.
        self._is_held = False
        self._body = b""
        # True if the bytes just received cannot complete a head that is too long.
        self._is_short = True
        # True if these bytes began a head or continued a body.
        self._has_moved = False
        # Bytes received since, which the parser may be keeping.
        self._loose_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._fast_cycle = self.cycle_type(self)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        # Without reference cycles, memory is freed at once and not by the garbage collector.
        del self._fast_cycle

    def _collect_headers(self) -> None:
        """Make on_header a closure: a method, called for a dozen headers, takes twice as long."""
        head, repeated = self.head, self._repeated
        are_trailers = False

        def on_header(name: bytes, value: bytes) -> None:
            if are_trailers:
                return
            name = name.lower()
            if name in head:
                repeated.append((name, value))
            else:
                head[name] = value

        def ignore_trailers(is_chunked: bool) -> None:
            nonlocal are_trailers
            are_trailers = is_chunked

        self.on_header = on_header  # type: ignore[method-assign]
        self._ignore_trailers = ignore_trailers

    def data_received(self, data: bytes) -> None:
        if self.is_discarding:
            self.note_unread(data)
            return
        self._has_moved = False
        self._is_short = len(data) <= MAX_HEAD_BYTES and not self.is_in_head
        if self.timeout_keep_alive_task is not None:
            self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self.logger.warning(UNREADABLE)
            self.refuse(Unreadable(UNREADABLE))
        except httptools.HttpParserUpgrade:
            self._unsupported_upgrade_warning()
        if not (self.is_between or self.is_discarding):
            self._check_unfinished(data)

    def _check_unfinished(self, data: bytes) -> None:
        """Bound what a request that is not complete may take, or pass it on."""
        if self._has_moved:
            # The bytes in which a head begins may also contain the end of the body before it, so
            # only the headers that the parser has read count.
            self._loose_bytes = self._bytes_in_head() if self.is_in_head else 0
        else:
            # More of a head or of trailers; the parser keeps each header until it is complete.
            self._loose_bytes += len(data)
        if self._loose_bytes > MAX_HEAD_BYTES:
            self.refuse(TooLong())
        elif self._is_held and (
            b"expect" in self.head or not self.requests.may_have(self.parser.get_method(), self.url)
        ):
            # It cannot take the fast path, and its endpoint reads the rest.
            self._pass_on()

    # The parser's callbacks.

    def on_url(self, url: bytes) -> None:
        if self.is_in_head:
            # The URL came in pieces.
            self.url += url
            return
        if self.is_refused:
            return
        self.is_between = False
        self.is_in_head = self._has_moved = True
        self.since = monotonic()
        self.url = url
        self._body = b""
        self.head.clear()
        if self._is_chunked:
            self._is_chunked = False
            self._ignore_trailers(False)
        if self._repeated:
            self._repeated.clear()

    def on_headers_complete(self) -> None:
        if self.is_refused:
            return
        self.is_in_head = False
        if (self._repeated or self.head.get(b"host") != self._host) and not self._has_one_host():
            self.refuse(Unreadable(NO_HOST))
            return
        self._is_held = True
        if b"transfer-encoding" in self.head:
            # Headers that the parser finds from now on are trailers, which the service ignores.
            self._is_chunked = True
            self._ignore_trailers(True)
            self._pass_on()

    def _has_one_host(self) -> bool:
        """Does the request say for whom it is (RFC 9112, section 3.2)? HTTP/1.0 need not."""
        host = self.head.get(b"host")
        if host is None:
            return self.parser.get_http_version() == "1.0"
        if not _HOST.fullmatch(host) or any(name == b"host" for name, _ in self._repeated):
            return False
        self._host = host
        return True

    def on_body(self, body: bytes) -> None:
        self._has_moved = True
        if self.is_refused:
            return
        if self._is_held:
            self._body = self._body + body if self._body else body
            if len(self._body) > MAX_HELD_BYTES:
                self._pass_on()
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self.is_refused:
            return
        if self._is_held:
            request = self.requests[self.parser.get_method(), self.url, self._body]
            if request is not None and self._is_usual():
                headers = headers_of(self.all_headers()) if self._repeated else self.head
                if self._may_call(headers):
                    self._answer_fast(request, headers)
                    return
            self._pass_on()
        if not self.is_refused:
            self.is_in_body = False
            self.is_between = not self.is_discarding
            super().on_message_complete()

    # Requests that ASGI answers.

    def all_headers(self) -> list[tuple[bytes, bytes]]:
        """Those of the request that was read last, as far as they have come."""
        return [*self.head.items(), *self._repeated]

    @property
    def _is_head_too_long(self) -> bool:
        return self._bytes_in_head() > MAX_HEAD_BYTES

    def _bytes_in_head(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.all_headers())

    def _pass_on(self) -> None:
        """Replay the request to uvicorn's callbacks, as far as it has been read."""
        self._is_held = False
        if not self._is_short and self._is_head_too_long:
            self.refuse(TooLong())
        elif len(self.pipeline) >= MAX_PIPELINED:
            self.refuse(Unavailable())
        else:
            url = self.url
            HttpToolsProtocol.on_message_begin(self)
            self.url = url
            for name, value in self.all_headers():
                HttpToolsProtocol.on_header(self, name, value)
            # Raises if the URL is malformed.
            super().on_headers_complete()
            self._note_asgi()

    def _note_asgi(self) -> None:
        self.is_in_body = True
        if self.parser.should_upgrade():
            # After an upgrade llhttp parses nothing more, not even the body.
            self.is_closing_soon = self.is_discarding = True
        if self.is_closing_soon:
            self.cycle.keep_alive = False
        if self._body:
            super().on_body(self._body)

    # Requests that take the fast path.

    def _is_usual(self) -> bool:
        """Is there nothing about the request that only ASGI handles?"""
        head = self.head
        return not (
            (not self._is_short and self._is_head_too_long)
            or not self.parser.should_keep_alive()
            or b"authorization" in head
            or b"upgrade" in head
            or b"expect" in head
            # HTTP/1.0 keeps a connection open only with one of these headers.
            or (
                (b"connection" in head or b"proxy-connection" in head)
                and self.parser.get_http_version() != "1.1"
            )
            or self.is_closing_soon
            or self.flow.write_paused
            or len(self.pipeline) >= MAX_PIPELINED
        )

    def _may_call(self, headers: Headers) -> bool:
        """May the page that sent these headers call, with a body that can be read as JSON?"""
        if self._body and (
            b"content-encoding" in headers
            or (headers.get(b"content-type") != JSON and kind_of(headers) not in AS_JSON)
        ):
            return False
        return not self.policy.domains or is_allowed(headers, self.policy.domains)

    def _answer_fast(self, request: Any, headers: Headers) -> None:
        """Let a cycle of the fast path answer; a pipelined request waits for its turn."""
        before = self.cycle
        is_free = before is None or before.response_complete
        # One cycle answers the requests of a connection one after the other.
        cycle = self._fast_cycle if is_free else self.cycle_type(self)
        cycle.take(request, headers)
        self.cycle = cycle  # type: ignore[assignment]
        self._is_held = False
        self.is_between = True
        if is_free:
            cycle.start()
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, None))  # type: ignore[arg-type]

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        if app is None:
            # Not called directly: each answer starts the next cycle, a hundred calls deep.
            self.loop.call_soon(cycle.start)
        else:
            super()._start_asgi_task(cycle, app)

"""One protocol class on uvicorn's: its parser reads every request, and nothing else does.

For what most requests ask, ASGI (a task, a scope, three messages, a router) costs several times the
work itself. So a request is held until the parser has all of it, and if it is hot, a cycle of
another kind than uvicorn's answers it; whoever makes the class says which those are. Whatever is
out of the ordinary, or long, or would be refused, becomes the ASGI request that it would have been:
uvicorn is told what its parser has read.

uvicorn keeps the headers of a request for as long as they go on coming; here they may be as long as
those of the reference server.
"""

from time import monotonic
from typing import Any, ClassVar, Protocol

import httptools
from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..errors import TooLong, Unavailable, Unreadable
from .body import AS_JSON, JSON, kind_of
from .client import Headers, headers_of, is_allowed
from .connection import Connection

# URL and headers together, as Node has it, and so the reference.
MAX_HEAD_BYTES = 16 * 1024
# Of a request that is held.
MAX_HELD_BYTES = 16 * 1024
# Requests that may wait behind one another on one connection.
MAX_PIPELINED = 100
# uvicorn's words for bytes that are no request.
UNREADABLE = "Invalid HTTP request received."


class Requests(Protocol):
    """(method, URL, body) -> a request that may be answered without ASGI, or None."""

    def __getitem__(self, words: tuple[bytes, bytes, bytes]) -> Any: ...

    def may_have(self, method: bytes, url: bytes) -> bool:
        """Could it be one, whatever its body is?"""
        ...


class Cycle(Protocol):
    """A request and its answer; to uvicorn, a cycle like its own."""

    def start(self) -> None: ...


class CycleOf(Protocol):
    """Makes the cycle of a hot request; None if it is ASGI's after all."""

    def __call__(
        self, connection: "HttpProtocol", request: Any, headers: Headers
    ) -> Cycle | None: ...


class HttpProtocol(Connection):
    """What comes over a connection."""

    requests: ClassVar[Requests]
    cycle_of: ClassVar[CycleOf]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Of the request that is being read: headers by name, and further lines of the same names.
        self.head: dict[bytes, bytes] = {}
        self._repeated: list[tuple[bytes, bytes]] = []
        self._collect_headers()
        super().__init__(*args, **kwargs)
        self._is_chunked = False
        # Nobody else knows of it yet.
        self._is_held = False
        self._body = b""
        # Is no head too long that ends in this chunk? Has a head begun in it, or a body gone on?
        self._is_short = True
        self._has_moved = False
        # What has come since then, and the parser may be keeping.
        self._loose_bytes = 0

    def _collect_headers(self) -> None:
        """Give the parser a function: to call a method for a dozen headers takes twice as long."""
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

        def await_trailers(do_come: bool) -> None:
            nonlocal are_trailers
            are_trailers = do_come

        self.on_header = on_header  # type: ignore[method-assign]
        self._await_trailers = await_trailers

    def data_received(self, data: bytes) -> None:
        if self.is_deaf:
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
        if not (self.is_between or self.is_deaf):
            self._note_unfinished(data)

    def _note_unfinished(self, data: bytes) -> None:
        """There is more of a request to come than has."""
        if self._has_moved:
            # A chunk in which a head begins may also hold the end of the body before, so of that
            # only what the parser has made out counts.
            self._loose_bytes = self._bytes_in_head() if self.is_in_head else 0
        else:
            # More of a head, or trailers, of which the parser keeps one until it is complete.
            self._loose_bytes += len(data)
        if self._loose_bytes > MAX_HEAD_BYTES:
            self.refuse(TooLong())
        elif self._is_held and (
            b"expect" in self.head or not self.requests.may_have(self.parser.get_method(), self.url)
        ):
            # Its endpoint waits for the rest.
            self._pass_on()

    # What the parser calls.

    def on_message_begin(self) -> None:
        if self.is_refused:
            return
        self.is_between = False
        self.is_in_head = self._has_moved = True
        self.since = monotonic()
        self.url = self._body = b""
        self.head.clear()
        if self._is_chunked:
            self._is_chunked = False
            self._await_trailers(False)
        if self._repeated:
            self._repeated.clear()

    def on_headers_complete(self) -> None:
        if self.is_refused:
            return
        self.is_in_head = False
        self._is_held = True
        if b"transfer-encoding" in self.head:
            # What looks like headers from now on are trailers, which mean nothing.
            self._is_chunked = True
            self._await_trailers(True)
            self._pass_on()

    def on_body(self, body: bytes) -> None:
        self._has_moved = True
        if self.is_refused:
            return
        if self._is_held:
            self._body += body
            if len(self._body) > MAX_HELD_BYTES:
                self._pass_on()
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self.is_refused:
            return
        if self._is_held:
            if self._is_taken():
                return
            self._pass_on()
        if not self.is_refused:
            self.is_in_body = False
            self.is_between = not self.is_deaf
            super().on_message_complete()

    # What is not hot.

    def _all_headers(self) -> list[tuple[bytes, bytes]]:
        return [*self.head.items(), *self._repeated]

    def scope_read(self) -> Scope:
        """Of the request that was read last, what ASGI would be told."""
        return {
            "method": self.parser.get_method().decode(),
            "path": self.url.partition(b"?")[0].decode(),
            "scheme": self.scheme,
            "http_version": self.parser.get_http_version(),
            "client": self.client,
            "headers": self._all_headers(),
        }

    @property
    def _is_head_too_long(self) -> bool:
        return not self._is_short and self._bytes_in_head() > MAX_HEAD_BYTES

    def _bytes_in_head(self) -> int:
        return len(self.url) + sum(
            len(name) + len(value) + 4 for name, value in self._all_headers()
        )

    def _pass_on(self) -> None:
        """Tell uvicorn of the request, as far as it has been read."""
        self._is_held = False
        if self._is_head_too_long:
            self.refuse(TooLong())
        elif len(self.pipeline) >= MAX_PIPELINED:
            self.refuse(Unavailable())
        else:
            url = self.url
            super().on_message_begin()
            self.url = url
            for name, value in self._all_headers():
                HttpToolsProtocol.on_header(self, name, value)
            # Raises for a URL that is none.
            super().on_headers_complete()
            self._note_asgi()

    def _note_asgi(self) -> None:
        self.is_in_body = True
        if self.parser.should_upgrade():
            # llhttp takes whatever comes behind for another protocol, and the body with it.
            self.is_closing_soon = self.is_deaf = True
        if self.is_closing_soon:
            self.cycle.keep_alive = False
        if self._body:
            super().on_body(self._body)

    # What is hot.

    def _is_taken(self) -> bool:
        """Ask what is asked, if that is hot, and nothing about it is unusual."""
        parser, head = self.parser, self.head
        request = self.requests[parser.get_method(), self.url, self._body]
        if (
            request is None
            or self._is_head_too_long
            or not parser.should_keep_alive()
            or b"authorization" in head
            or b"upgrade" in head
            or b"expect" in head
            # Only with one of these a connection outlives a request of HTTP/1.0.
            or (
                (b"connection" in head or b"proxy-connection" in head)
                and parser.get_http_version() != "1.1"
            )
            or self.is_closing_soon
            or self.flow.write_paused
            or len(self.pipeline) >= MAX_PIPELINED
        ):
            return False
        headers: Headers = headers_of(self._all_headers()) if self._repeated else head
        if self._body and not _is_json(headers):
            return False
        if self.policy.domains and not is_allowed(headers, self.policy.domains):
            return False
        cycle = self.cycle_of(self, request, headers)
        if cycle is None:
            return False
        self._is_held = False
        self.is_between = True
        before, self.cycle = self.cycle, cycle  # type: ignore[assignment]
        if before is None or before.response_complete:
            cycle.start()
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, None))  # type: ignore[arg-type]
        return True

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        if app is None:
            # Not at once: a hundred may be answered one out of the other.
            self.loop.call_soon(cycle.start)
        else:
            super()._start_asgi_task(cycle, app)


def _is_json(headers: Headers) -> bool:
    """May the body be read as JSON? Most are just called that."""
    kind = headers.get(b"content-type")
    return (kind == JSON or kind_of(headers) in AS_JSON) and b"content-encoding" not in headers

"""The protocol class: uvicorn's, with a fast path. Its parser reads all requests.

For a counter, ASGI (a task, a scope, three messages, a router) costs several times the work itself.
So a request is held until the parser has all of it. If it may take the fast path, a cycle of our
own answers it (table/fast_cycle.py). Any request that is unusual, long or has no fast path is
replayed to uvicorn's callbacks and becomes an ASGI request.

A browser sends a dozen headers, of which hardly one changes the answer: only those that might are
stored. For a replay, which is rare, the request's bytes are parsed again.

uvicorn does not limit the headers of a request; here the limit is that of Waline's server.
"""

import asyncio
import math
import re
from time import monotonic
from typing import Any, ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..errors import TooLong, Unavailable, Unreadable
from .body import AS_JSON, JSON, kind_of
from .client import headers_of, is_allowed
from .connection import Connection
from .cycle import Cycle, Requests
from .head import UNUSUAL, DecidingHeaders, all_headers, has_path, new_parser

# URL and headers together: the limit of Node.js, and so of Waline.
MAX_HEAD_BYTES = 16 * 1024
# The body of a request that is held.
MAX_HELD_BYTES = 16 * 1024
# Requests of one connection that may wait for the answer to an earlier one.
MAX_PIPELINED = 100
# What uvicorn answers to bytes that are not a request.
UNREADABLE = "Invalid HTTP request received."
# Two readers of a request without one Host could take it to be for two services.
NO_HOST = "Host: HTTP/1.1 needs exactly one line of it, with a name or an address"
_VERSION_11 = b" HTTP/1.1\r\n"
_HOST = re.compile(rb"([\w.~%-]+|\[[\da-fA-F:.]+\])(:\d{0,5})?")


class HttpProtocol(Connection):
    """Reads a connection's requests: each takes the fast path, or is passed on to uvicorn."""

    __slots__ = (
        "_body",
        "_completed",
        "_domains",
        "_fast_cycle",
        "_has_all",
        "_has_moved",
        "_headers",
        "_host",
        "_is_held",
        "_loose_bytes",
        "_received",
        "_peculiar",
        "_prepared",
        "_without_upgrade",
        "head",
        "on_header",
    )

    requests: ClassVar[Requests]
    cycle_type: ClassVar[type[Cycle]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # The Host that was found to be one, since a connection's requests have the same; no header
        # has this byte.
        self._host = b"\0"
        # Found faster here than in the class.
        self._prepared, self._domains = self.requests, self.policy.domains
        # Those of the request that is read: the first of each name, and further ones.
        self._headers = DecidingHeaders(self.policy)
        self.head, self._peculiar = self._headers.first, self._headers.peculiar
        # True while all headers are collected.
        self._has_all = False
        # The parser calls it for each header.
        self.on_header = self._headers.collect  # type: ignore[method-assign, assignment]
        super().__init__(*args, **kwargs)
        # The bytes just received, if they started between requests, and how many requests were
        # complete in them before this one.
        self._received, self._completed = b"", 0
        # The head of a request that is read again, because it has an Upgrade.
        self._without_upgrade = b""
        # True while uvicorn does not know the request.
        self._is_held = False
        self.url = self._body = b""
        # True if the bytes just received started a head or continued a body.
        self._has_moved = False
        # Bytes received since, which the parser may be keeping.
        self._loose_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._fast_cycle = self.cycle_type(self)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        # Without reference cycles, memory is freed immediately, not by the garbage collector.
        del self._fast_cycle

    def data_received(self, data: bytes) -> None:
        if self.is_discarding:
            self.note_unread(data)
            return
        if len(data) > MAX_HEAD_BYTES:
            # In pieces, so that a head that is complete within its first piece cannot exceed the
            # limit.
            for start in range(0, len(data), MAX_HEAD_BYTES):
                self.data_received(data[start : start + MAX_HEAD_BYTES])
            return
        if self.timeout_keep_alive_task is not None:
            self._unset_keepalive_if_required()
        if self.is_between:
            self._received, self._completed = data, 0
            if self._has_all:
                self._has_all = False
                self._headers.collect_deciding()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self._refuse_unreadable()
        except httptools.HttpParserUpgrade as pause:
            return self._read_on(data[pause.args[0] :])
        if not (self.is_between or self.is_discarding):
            self._check_unfinished(data)
        self._received = b""

    def _check_unfinished(self, data: bytes) -> None:
        """Limit the size of an incomplete request, or pass it on."""
        self._collect_all()
        if self._has_moved:
            # The bytes in which a head starts may also contain the end of the body before it, so
            # only the headers that the parser has read count.
            self._loose_bytes = self._bytes_in_head() if self.is_in_head else 0
            self._has_moved = False
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

    def _refuse_unreadable(self) -> None:
        self.logger.warning(UNREADABLE)
        self.refuse(Unreadable(UNREADABLE))

    # The parser's callbacks.

    def on_message_begin(self) -> None:
        if self.is_refused:
            return
        self.is_between = False
        self.is_in_head = self._has_moved = True
        self.since = monotonic()
        if self._has_all:
            self._headers.collect_all()
        elif self._peculiar:
            self._headers.clear()

    def on_url(self, url: bytes) -> None:
        # It may come in pieces.
        self.url += url

    def on_headers_complete(self) -> None:
        if self.is_refused:
            return
        self.is_in_head = False
        self._is_held = True
        if self._peculiar or self.head.get(b"host") != self._host:
            self._check_head()

    def _check_head(self) -> None:
        """Refuse a request without a valid host, and pass on a chunked one."""
        if not self._has_one_host():
            self._is_held = False
            self.refuse(Unreadable(NO_HOST))
        elif b"upgrade" in self.head and self.parser.should_upgrade():
            self._ignore_upgrade()
        elif b"transfer-encoding" in self.head:
            self._collect_all()
            # Headers that the parser finds from now on are trailers, which the service ignores.
            self._headers.ignore()
            self._pass_on()

    def _ignore_upgrade(self) -> None:
        """Read this request again without the header Upgrade, which a server may ignore (RFC 9110,
        section 7.8): clients offer HTTP/2 with it, and the parser would not read their bodies."""
        version = self.parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)]
        lines += [b"%b: %b" % line for line in self.all_headers() if line[0] != b"upgrade"]
        self._without_upgrade = b"\r\n".join([*lines, b"", b""])
        # Until the parser pauses, which is before the body.
        self._is_held, self.is_refused = False, True

    def _read_on(self, rest: bytes) -> None:
        """Go on after a pause of the parser, with what came behind the head."""
        head, self._without_upgrade = self._without_upgrade, b""
        if not head:
            return self._unsupported_upgrade_warning()
        self.is_refused, self.is_between = False, True
        self.url, self.parser = b"", new_parser(self)
        self.head.clear()
        self.data_received(head + rest)

    def _has_one_host(self) -> bool:
        """Does the request have exactly one valid Host (RFC 9112, section 3.2)? HTTP/1.0 need
        not."""
        host = self.head.get(b"host")
        if host is None:
            return self.parser.get_http_version() == "1.0"
        if not _HOST.fullmatch(host) or b"host" in self._peculiar:
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
            method = self.parser.get_method()
            request = self._prepared[method, self.url, self._body]
            if request is None or not self._answers_fast(request, method):
                self._pass_on()
        if not (self.is_between or self.is_refused):
            self.is_in_body = False
            self.is_between = not self.is_discarding
            super().on_message_complete()
        self._completed += 1
        # Data that a connection keeps until its next request is out of the CPU's caches by then.
        self.url = self._body = b""
        self.head.clear()

    # Requests that ASGI answers.

    def all_headers(self) -> list[tuple[bytes, bytes]]:
        """The headers of the request that was read last, as far as they have come."""
        self._collect_all()
        return [*self.head.items(), *self._headers.repeated]

    def _collect_all(self) -> None:
        """Keep all headers from now on, including those of this request that were dropped."""
        if not self._has_all:
            self._has_all = True
            self._headers.collect_all(all_headers(self._received, self._completed))

    def _bytes_in_head(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.all_headers())

    def _pass_on(self) -> None:
        """Replay the request to uvicorn's callbacks, as far as it has been read."""
        self._is_held = False
        headers = self.all_headers()
        if self._bytes_in_head() > MAX_HEAD_BYTES:
            self.refuse(TooLong())
        elif len(self.pipeline) >= MAX_PIPELINED:
            self.refuse(Unavailable())
        elif not has_path(self.url):
            # uvicorn would raise, and the parser, which catches that, does not always call this.
            self._refuse_unreadable()
        else:
            url = self.url
            HttpToolsProtocol.on_message_begin(self)
            self.url = url
            for name, value in headers:
                HttpToolsProtocol.on_header(self, name, value)
            super().on_headers_complete()
            self._note_asgi()

    def _note_asgi(self) -> None:
        self.is_in_body = True
        if self.parser.should_upgrade():
            # After CONNECT llhttp parses nothing more, not even the body.
            self.is_closing_soon = self.is_discarding = True
        if self.is_closing_soon:
            self.cycle.keep_alive = False
        if self._body:
            super().on_body(self._body)

    # Requests that take the fast path.

    def _answers_fast(self, request: Any, method: bytes) -> bool:
        """Let a cycle of the fast path answer, unless only ASGI can; a pipelined one waits for its
        turn."""
        head = self.head
        if (
            (self._peculiar and not UNUSUAL.isdisjoint(self._peculiar))
            or not self.parser.should_keep_alive()
            # HTTP/1.0 keeps a connection open only with this header.
            or (b"connection" in head and not self._is_version_11(len(method) + 1 + len(self.url)))
            or self.is_closing_soon
            or self._stuck_at < math.inf
            or (self._has_all and self._bytes_in_head() > MAX_HEAD_BYTES)
        ):
            return False
        headers = headers_of(self.all_headers()) if self._peculiar else head
        if self._body and headers.get(b"content-type") != JSON and kind_of(headers) not in AS_JSON:
            return False
        if self._domains and not is_allowed(headers, self._domains):
            return False
        before, cycle = self.cycle, self._fast_cycle
        is_free = before is None or before.response_complete
        if not is_free:
            if len(self.pipeline) >= MAX_PIPELINED:
                return False
            # One cycle answers the requests of a connection one after the other.
            cycle = self.cycle_type(self)
        self._is_held = False
        self.is_between = True
        self.cycle = cycle  # type: ignore[assignment]
        cycle.take(request, headers)
        if is_free:
            cycle.start()
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, None))  # type: ignore[arg-type]
        return True

    def _is_version_11(self, at: int) -> bool:
        # If the request is the first in these bytes, its version follows the URL; the parser would
        # make a text of it, which takes as long as reading the whole request.
        is_first = not self._completed and self._received.startswith(_VERSION_11, at)
        return is_first or self.parser.get_http_version() == "1.1"

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        if app is None:
            # Not called directly: each answer starts the next cycle, a hundred calls deep.
            self.loop.call_soon(cycle.start)
        else:
            super()._start_asgi_task(cycle, app)

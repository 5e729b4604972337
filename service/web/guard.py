"""uvicorn's protocol class with bounds on what a stranger may send before a request is even known.

uvicorn keeps the headers of a request for as long as they go on coming. Here they may be as long as
those of the reference server, and a connection may be silent, or in the middle of its headers, only
for so long.
"""

import asyncio
import math
import select
from time import monotonic
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ..domain.service import Service
from ..errors import ServiceError, TooLong, Unavailable
from ..meters import Meters
from .answer import Answer, Headers, failed
from .policy import Policy

# URL and headers together, as Node has it, and so the reference.
MAX_HEAD = 16 * 1024
# How long somebody may take to send a body, and may not take what is sent to them.
BODY_SECONDS = 20
# Requests that may wait behind one another on one connection.
MOST_PIPELINED = 100
STUCK_SECONDS = 20
# When the service stops: what somebody who has connected gets to ask, and somebody who was answered
# before, for a request that is on its way.
FIRST_WORDS_SECONDS = 2.0
LAST_WORDS_SECONDS = 0.1


class Guarded(HttpToolsProtocol):
    """`guarded` makes one for a service."""

    meters: ClassVar[Meters]
    most_connections: ClassVar[int]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Has uvicorn's parser seen only whole requests so far?
        self.is_between = True
        self._is_in_head = False
        self._has_begun = False
        self._head_bytes = 0
        self._is_refused = False
        self._is_deaf = False
        self.is_closing_soon = False
        # When an answer was written last, or a request began.
        self.since = self._made_at = monotonic()
        # When the client last ceased to take what is sent.
        self._stuck_at = math.inf

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            self.meters.turned_away.add()
            self._refuse(Unavailable())

    def pause_writing(self) -> None:
        self._stuck_at = monotonic()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._stuck_at = math.inf
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        if self._is_refused or self._is_deaf:
            return
        self._has_begun = False
        super().data_received(data)
        if self._is_in_head:
            # Headers that are not complete yet. A chunk in which they begin may also hold the end
            # of the body before, so of that only what the parser has made out counts.
            self._head_bytes += self._head_size() if self._has_begun else len(data)
            if self._head_bytes > MAX_HEAD:
                self._refuse(TooLong())

    def on_message_begin(self) -> None:
        self.is_between = False
        self._is_in_head = self._has_begun = True
        self._head_bytes = 0
        self.since = monotonic()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        if self._head_size() > MAX_HEAD:
            self._refuse(TooLong())
        elif len(self.pipeline) > MOST_PIPELINED:
            self._refuse(Unavailable())
        elif not self._is_refused:
            super().on_headers_complete()
            if self.parser.should_upgrade():
                # llhttp takes whatever comes behind for another protocol, and the body with it.
                self.is_closing_soon = self._is_deaf = True
            if self.is_closing_soon:
                self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self.is_between = True
        if not self._is_refused:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        self.since = monotonic()
        super().on_response_complete()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Some clients say that they have said all; they are answered all the same.

        Those that have not said all never will: an endpoint would wait for the body in vain.
        """
        is_amid_body = not self.is_between and not self._is_in_head
        if self.is_done or (is_amid_body and not self.pipeline):
            return False
        self.close_soon()
        return True

    def close_soon(self) -> None:
        """Close after the next answer, which says so: then no request is on its way.

        Proxies keep connections for long, and one that is cut may have a request in it.
        """
        self.is_closing_soon = True
        if self.cycle is not None and not self.cycle.response_started:
            self.cycle.keep_alive = False

    def shutdown(self) -> None:
        """At the stop: answer what was sent, and close; uvicorn cuts whoever is silent just now."""
        self.close_soon()
        is_new = self.since == self._made_at
        patience = FIRST_WORDS_SECONDS if is_new else LAST_WORDS_SECONDS
        self.loop.call_later(patience, self._close_if_silent)

    def _close_if_silent(self) -> None:
        if self.transport.is_closing() or not self.is_done:
            # Whoever is being answered is told to go, and closed then.
            return
        if _is_readable(self.transport):
            # Timers come before what has arrived.
            self.loop.call_later(0.01, self._close_if_silent)
        else:
            self.transport.close()

    def close_if_late(self, now: float, idle_seconds: float) -> None:
        """Close a connection that is silent, or slow beyond what any honest client is."""
        if self._stuck_at < now - STUCK_SECONDS:
            self.transport.abort()
        elif self.is_between or self._is_in_head:
            if self.is_done and self.since < now - idle_seconds:
                self.transport.close()
        elif self.since < now - BODY_SECONDS:
            self.transport.close()

    @property
    def is_done(self) -> bool:
        """Is every request that was begun answered?"""
        return self.cycle is None or self.cycle.response_complete

    def _head_size(self) -> int:
        """Of URL and headers, as far as the parser has read them."""
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _refuse(self, error: ServiceError) -> None:
        self._is_refused = True
        if self.transport.is_closing():
            return
        if self.is_done:
            self.meters.refused.add(type(error).__name__)
            answer = failed(error, "", "")
            self.transport.write(self.plain(answer, [(b"connection", b"close")]))
        self.transport.close()

    def plain(self, answer: Answer, more: Headers = ()) -> bytes:
        """An answer as bytes, with the headers that uvicorn would send."""
        headers = [*self.server_state.default_headers, *answer.headers, *more]
        return b"%b%b\r\n%b" % (STATUS_LINE[answer.status], lines(headers), answer.body)


def _is_readable(transport: asyncio.Transport) -> bool:
    """Has something come that nobody has read yet?"""
    asking = select.poll()
    asking.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(asking.poll(0))


def lines(headers: Headers) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])


def values_of(service: Service, policy: Policy) -> dict[str, object]:
    return {"meters": service.meters, "most_connections": policy.connections}


def guarded(service: Service, policy: Policy) -> type[Guarded]:
    """The protocol class for one service: uvicorn makes an object of it for each connection."""
    return type("Guarded", (Guarded,), values_of(service, policy))

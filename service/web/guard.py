"""uvicorn's protocol class with bounds on what a stranger may send before a request is even known.

uvicorn keeps the headers of a request for as long as they go on coming. Here they may be as long as
those of the reference server, and a connection may be silent, or in the middle of its headers, only
for so long.

Whoever is refused is told so, after all who asked before on the same connection, and may send on
for a while, unread: a connection that is closed with bytes unread is reset, and takes the answer
with it.
"""

import asyncio
import math
import select
from functools import partial
from time import monotonic
from typing import Any, ClassVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from ..domain.service import Service
from ..errors import ServiceError, TooLong, TooSlow, Unavailable, Unreadable
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
# What somebody may still send who has been refused, and for how long.
MAX_UNREAD = 16 * 1024 * 1024
LINGER_SECONDS = 20


class Guarded(HttpToolsProtocol):
    """`guarded` makes one for a service."""

    meters: ClassVar[Meters]
    most_connections: ClassVar[int]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Has uvicorn's parser seen only whole requests so far, and will it see more?
        self.is_between = True
        self._is_in_head = False
        self._has_moved = False
        self._head_bytes = 0
        # Of a body that goes on: what has come since its last byte and is none of it.
        self._stray_bytes = 0
        self._trailer_bytes = 0
        # What is wrong with the request whose body is being read, and what is said when all
        # requests before are answered.
        self._body_error: ServiceError | None = None
        self._last_words: ServiceError | None = None
        # Nothing that comes is read any more: it is counted, until there is too much of it, or it
        # is too late.
        self._is_deaf = self._is_refused = False
        self._unread_bytes = 0
        self._lingers_until = math.inf
        self.is_closing_soon = False
        # When an answer was written last, or a request began.
        self.since = self._made_at = monotonic()
        # When the client last ceased to take what is sent.
        self._stuck_at = math.inf

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._answers_to = _AnswersTo(self)
        if len(self.connections) > self.most_connections:
            self.meters.turned_away.add()
            self._is_deaf = self._is_refused = True
            self._say_why(Unavailable())
            # At once, since others wait for the place.
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        # No circle is left to the garbage collector.
        self._answers_to.close = self.transport.close
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        self._stuck_at = monotonic()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._stuck_at = math.inf
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        if self._is_deaf:
            self._unread_bytes += len(data)
            if self._unread_bytes > MAX_UNREAD:
                self.transport.abort()
            return
        self._has_moved = False
        super().data_received(data)
        if self._is_deaf:
            return
        if self._is_in_head:
            # Headers that are not complete yet. A chunk in which they begin may also hold the end
            # of the body before, so of that only what the parser has made out counts.
            self._head_bytes += self._head_size() if self._has_moved else len(data)
            if self._head_bytes > MAX_HEAD:
                self._refuse(TooLong())
        elif not self.is_between and not self._has_moved:
            # The parser keeps a trailer until it is complete.
            self._stray_bytes += len(data)
            if self._stray_bytes > MAX_HEAD:
                self._refuse(TooLong())

    def send_400_response(self, msg: str) -> None:
        """What uvicorn says of bytes that are no request; in its turn, unlike uvicorn's own."""
        self._refuse(Unreadable(msg))

    def on_message_begin(self) -> None:
        if self._is_refused:
            return
        self.is_between = False
        self._is_in_head = self._has_moved = True
        self._head_bytes = self._stray_bytes = self._trailer_bytes = 0
        self.since = monotonic()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_in_head:
            super().on_header(name, value)
            return
        # A trailer: it means nothing. uvicorn would take it for one more header, after all of them
        # have been looked at.
        self._trailer_bytes += len(name) + len(value) + 4
        if self._trailer_bytes > MAX_HEAD and not self._is_refused:
            self._refuse(TooLong())

    def on_headers_complete(self) -> None:
        if self._is_refused:
            return
        if self._head_size() > MAX_HEAD:
            self._refuse(TooLong())
        elif len(self.pipeline) >= MOST_PIPELINED:
            self._refuse(Unavailable())
        else:
            # Raises for a URL that is none, and then this is still its head.
            super().on_headers_complete()
            self._is_in_head = False
            if self.parser.should_upgrade():
                # llhttp takes whatever comes behind for another protocol, and the body with it.
                self.is_closing_soon = self._is_deaf = True
            if self.is_closing_soon:
                self.cycle.keep_alive = False

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        cycle.transport = self._answers_to  # type: ignore[assignment]
        super()._start_asgi_task(cycle, partial(self._run, cycle, app))

    async def _run(
        self, cycle: RequestResponseCycle, app: ASGIApp, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """The application, told of what is wrong with a body where it reads it."""

        async def receive_or_raise() -> Message:
            message = await receive()
            if self._body_error is not None and cycle is self.cycle:
                raise self._body_error
            return message

        async def send_perhaps_last(message: Message) -> None:
            if cycle.more_body:
                # The answer to a request that has not all come is the last one: whoever waits for a
                # 100 Continue may never send the rest.
                cycle.keep_alive = False
            await send(message)

        await app(scope, receive_or_raise, send_perhaps_last)

    def on_body(self, body: bytes) -> None:
        self._has_moved = True
        self._stray_bytes = 0
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._is_refused:
            self.is_between = not self._is_deaf
            super().on_message_complete()

    def on_response_complete(self) -> None:
        self.since = monotonic()
        if self._lingers_until < math.inf:
            return
        super().on_response_complete()
        if self._last_words is not None and self.is_done:
            self._say_why(self._last_words)
            self._linger()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Some clients say that they have said all; they are answered all the same.

        Those that have not said all never will: an endpoint would wait for the body in vain.
        """
        is_amid_body = not (self.is_between or self._is_in_head or self._is_deaf)
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
        if self._stuck_at < now - STUCK_SECONDS or self._lingers_until < now:
            self.transport.abort()
        elif self._is_deaf:
            pass
        elif self.is_between or self._is_in_head:
            if self.is_done and self.since < now - idle_seconds:
                self.transport.close()
        elif self.since < now - BODY_SECONDS:
            self._refuse(TooSlow())

    @property
    def is_done(self) -> bool:
        """Is every request that was begun answered?"""
        return self.cycle is None or self.cycle.response_complete

    def _head_size(self) -> int:
        """Of URL and headers, as far as the parser has read them."""
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _refuse(self, error: ServiceError) -> None:
        """Read no more, and say why where it is the turn of what has been read last."""
        is_amid_body = not (self.is_between or self._is_in_head or self._is_deaf)
        self._is_deaf = self._is_refused = True
        self.is_between = self._is_in_head = False
        if self.transport.is_closing():
            return
        if is_amid_body:
            # Whoever reads the body is told. If it was answered before its end, it is closing.
            self._body_error = error
            self.cycle.message_event.set()
        elif self.is_done:
            self._say_why(error)
            self._linger()
        else:
            self._last_words = error

    def _say_why(self, error: ServiceError) -> None:
        self.meters.refused.add(type(error).__name__)
        self.transport.write(self.plain(failed(error, "", ""), [(b"connection", b"close")]))

    def close_gently(self) -> None:
        """Close when the rest of a request has come, if one is on its way."""
        if self.is_between:
            self.transport.close()
        else:
            self._linger()

    def _linger(self) -> None:
        """Say that all is said, and let the client come to its end.

        To close with bytes unread is to reset the connection, and that can take away an answer
        which the client has not read yet.
        """
        if self._lingers_until < math.inf or self.transport.is_closing():
            return
        self._is_deaf = self._is_refused = True
        self.is_between = self._is_in_head = False
        self._lingers_until = monotonic() + LINGER_SECONDS
        self._unset_keepalive_if_required()
        self.transport.write_eof()
        self.transport.resume_reading()

    def plain(self, answer: Answer, more: Headers = ()) -> bytes:
        """An answer as bytes, with the headers that uvicorn would send."""
        headers = [*self.server_state.default_headers, *answer.headers, *more]
        return b"%b%b\r\n%b" % (STATUS_LINE[answer.status], lines(headers), answer.body)


def _is_readable(transport: asyncio.Transport) -> bool:
    """Has something come that nobody has read yet?"""
    asking = select.poll()
    asking.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(asking.poll(0))


class _AnswersTo:
    """The connection as an answer sees it that may be the last one."""

    def __init__(self, protocol: Guarded) -> None:
        self.write = protocol.transport.write
        self.is_closing = protocol.transport.is_closing
        self.close = protocol.close_gently


def lines(headers: Headers) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])


def values_of(service: Service, policy: Policy) -> dict[str, object]:
    return {"meters": service.meters, "most_connections": policy.connections}


def guarded(service: Service, policy: Policy) -> type[Guarded]:
    """The protocol class for one service: uvicorn makes an object of it for each connection."""
    return type("Guarded", (Guarded,), values_of(service, policy))

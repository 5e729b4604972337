"""One client's connection, in uvicorn's protocol class: how long it may be silent, and how it ends.

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

from ..errors import ServiceError, TooSlow, Unavailable
from ..telemetry.metrics import Metrics
from .policy import Policy
from .response import COMMON, Headers, Response, failed, lines

# How long somebody may take to send a body, and may not take what is sent to them.
BODY_SECONDS = 20
STUCK_SECONDS = 20
# When the service stops: what somebody who has connected gets to ask, and somebody who was answered
# before, for a request that is on its way.
FIRST_WORDS_SECONDS = 2.0
LAST_WORDS_SECONDS = 0.1
# What somebody may still send who has been refused, and for how long.
MAX_UNREAD_BYTES = 16 * 1024 * 1024
LINGER_SECONDS = 20


class Connection(HttpToolsProtocol):
    """What comes over it is read by protocol.py."""

    metrics: ClassVar[Metrics]
    policy: ClassVar[Policy]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Has the parser seen only whole requests so far, and will it see more?
        self.is_between = True
        self.is_in_head = False
        # Does an endpoint wait for the rest of a body?
        self.is_in_body = False
        # What is wrong with the request whose body is being read, and what is said when all
        # requests before are answered.
        self._body_error: ServiceError | None = None
        self.last_words: ServiceError | None = None
        # Nothing that comes is read any more: it is counted, until there is too much of it, or it
        # is too late.
        self.is_deaf = self.is_refused = False
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
        if len(self.connections) > self.policy.connections:
            self.metrics.turned_away.add()
            self.is_deaf = self.is_refused = True
            self._say_why(Unavailable())
            # At once, since others wait for the place.
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        # No circle is left to the garbage collector.
        self._answers_to.close = self.transport.close
        super().connection_lost(exc)
        self.cycle = None  # type: ignore[assignment]

    def note_unread(self, data: bytes) -> None:
        self._unread_bytes += len(data)
        if self._unread_bytes > MAX_UNREAD_BYTES:
            self.transport.abort()

    def pause_writing(self) -> None:
        self._stuck_at = monotonic()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._stuck_at = math.inf
        super().resume_writing()

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

    def on_response_complete(self) -> None:
        self.since = monotonic()
        if self._lingers_until < math.inf:
            return
        super().on_response_complete()
        if self.last_words is not None and self.is_done:
            self._say_why(self.last_words)
            self._linger()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Some clients say that they have said all; they are answered all the same.

        Those that have not said all never will: an endpoint would wait for the body in vain.
        """
        is_amid_body = self.is_in_body and not self.is_deaf
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
        elif self.is_deaf:
            pass
        elif self.is_between or self.is_in_head:
            if self.is_done and self.since < now - idle_seconds:
                self.transport.close()
        elif self.since < now - BODY_SECONDS:
            self.refuse(TooSlow())

    @property
    def is_done(self) -> bool:
        """Is every request that was begun answered?"""
        return self.cycle is None or self.cycle.response_complete

    def refuse(self, error: ServiceError) -> None:
        """Read no more, and say why where it is the turn of what has been read last."""
        is_amid_body = self.is_in_body and not self.is_deaf
        self.is_deaf = self.is_refused = True
        self.is_between = self.is_in_head = False
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
            self.last_words = error

    def _say_why(self, error: ServiceError) -> None:
        self.metrics.refused.add(type(error).__name__)
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
        self.is_deaf = self.is_refused = True
        self.is_between = self.is_in_head = False
        self._lingers_until = monotonic() + LINGER_SECONDS
        self._unset_keepalive_if_required()
        self.transport.write_eof()
        self.transport.resume_reading()

    # The beginning of a 200, and the headers it was made of; they change once a second, with the
    # date.
    _first_lines: ClassVar[bytes] = b""
    _defaults: ClassVar[list[tuple[bytes, bytes]] | None] = None

    def first_lines(self) -> bytes:
        """Of a 200, with the headers that uvicorn would send."""
        defaults = self.server_state.default_headers
        if defaults is not self._defaults:
            type(self)._defaults = defaults
            type(self)._first_lines = STATUS_LINE[200] + lines([*defaults, *COMMON])
        return self._first_lines

    def plain(self, answer: Response, more: Headers = ()) -> bytes:
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

    def __init__(self, connection: Connection) -> None:
        self.write = connection.transport.write
        self.is_closing = connection.transport.is_closing
        self.close = connection.close_gently

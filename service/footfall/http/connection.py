"""One client's connection, on uvicorn's protocol class: its time-outs, and how it is closed.

A rejected request is answered after all earlier ones on its connection. Then the service reads and
discards what the client still sends: closing a socket with unread bytes resets the connection, and
the client may lose the answer.
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

from ..errors import Busy, ServiceError, TooManyAtOnce, TooSlow, Unavailable
from ..limits.clients import PROXIES, PoolClient, pool_client_of
from ..limits.pool import Place, Shares
from ..limits.refusals import Refusals
from ..model import Caller
from ..telemetry.metrics import Metrics
from .policy import Policy
from .response import Headers, Response, failed, lines

# How long a client may take to send a body, and how long it may leave answers unread.
BODY_SECONDS = 20
STUCK_SECONDS = 20
# When the service stops, how long an idle connection stays open for a request that is on its way:
# a new one, and one that has had an answer.
NEW_CONNECTION_GRACE_SECONDS = 2.0
USED_CONNECTION_GRACE_SECONDS = 0.1
# Bytes that a client may still send after an error, and for how long.
MAX_UNREAD_BYTES = 16 * 1024 * 1024
LINGER_SECONDS = 20


class FirstLines:
    """Status line and headers that all answers of an operation have, as uvicorn would send them:
    `text`, which is made again for each other `defaults`. uvicorn makes those once a second, with
    the date."""

    __slots__ = ("_headers", "_status", "defaults", "text")

    def __init__(self, status: int, type: bytes, headers: Headers) -> None:
        self._status = status
        self._headers = ((b"content-type", type), *headers)
        self.defaults: Headers = ()
        self.text = b""

    def renew(self, defaults: Headers) -> None:
        self.defaults = defaults
        self.text = STATUS_LINE[self._status] + lines([*defaults, *self._headers])


class Connection(HttpToolsProtocol):
    """The states of a connection; the subclass in protocol.py reads its requests."""

    # Only uvicorn's attributes are in the instance's dictionary: more of them would no longer share
    # their names with other connections, and thousands of connections are colder than any cache.
    __slots__ = (
        "_answers_to",
        "_body_error",
        "_lingers_until",
        "_made_at",
        "_place",
        "_stuck_at",
        "_unread_bytes",
        "is_between",
        "is_closing_soon",
        "is_discarding",
        "is_in_body",
        "is_in_head",
        "is_refused",
        "last_error",
        "since",
    )

    metrics: ClassVar[Metrics]
    policy: ClassVar[Policy]
    # Those of all connections.
    places: ClassVar[Shares]
    refusals: ClassVar[Refusals]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # True while no request has been read in part, and more requests are accepted.
        self.is_between = True
        self.is_in_head = False
        # True while an endpoint waits for the rest of a body.
        self.is_in_body = False
        # An error for the endpoint that reads a body, and one to answer after all earlier requests.
        self._body_error: ServiceError | None = None
        self.last_error: ServiceError | None = None
        # True when bytes that come are only counted: up to MAX_UNREAD_BYTES, for LINGER_SECONDS.
        self.is_discarding = self.is_refused = False
        self._unread_bytes = 0
        self._lingers_until = math.inf
        self.is_closing_soon = False
        # When the last answer was written, or the last request started.
        self.since = self._made_at = monotonic()
        # The time since which the client has not read.
        self._stuck_at = math.inf

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._answers_to = _AnswersTo(self)
        try:
            self._place: Place | None = self.places.enter(self._pool_client(), evict=self._evict)
        except (TooManyAtOnce, Busy) as error:
            self._place = None
            self._note_turned_away()
            self.is_discarding = self.is_refused = True
            self._answer_error(error)
            # Closed immediately, without lingering, to free capacity for other clients.
            self.transport.close()

    def _note_turned_away(self) -> None:
        self.metrics.turned_away.add()
        self.refusals.note(self.client[0] if self.client else "", self.places.name)

    def _pool_client(self) -> PoolClient:
        address = self.client[0] if self.client else ""
        if address in self.policy.proxies:
            return PROXIES
        return pool_client_of(Caller(address=address))

    def _evict(self) -> None:
        """Close it for another client's, as soon as what it was sent is answered."""
        self._note_turned_away()
        if self.is_done:
            self.transport.close()
        elif self.is_in_body:
            self.refuse(Unavailable())
        else:
            self._end_soon()

    def connection_lost(self, exc: Exception | None) -> None:
        # Without reference cycles, memory is freed immediately, not by the garbage collector.
        self._answers_to.close = self.transport.close
        if self._place:
            self.places.leave(self._place)
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
        """Run the application; an error in the body is raised where the application reads it."""

        async def receive_or_raise() -> Message:
            message = await receive()
            if self._body_error is not None and cycle is self.cycle:
                raise self._body_error
            return message

        async def send_perhaps_last(message: Message) -> None:
            if cycle.more_body:
                # Answered before its body has arrived. A client that waits for 100 Continue may
                # never send that, so no further request can be read.
                cycle.keep_alive = False
            await send(message)

        await app(scope, receive_or_raise, send_perhaps_last)

    def on_response_complete(self) -> None:
        self.since = monotonic()
        if self._lingers_until < math.inf:
            return
        super().on_response_complete()
        if self.last_error is not None and self.is_done:
            self._answer_error(self.last_error)
            self._linger()

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client will send nothing more. Complete requests are still answered.

        A body that has not arrived by now never will, so its connection is closed.
        """
        is_amid_body = self.is_in_body and not self.is_discarding
        if self.is_done or (is_amid_body and not self.pipeline):
            return False
        # Whether an endless stream is still read cannot be known.
        self._end_soon()
        return True

    def _end_soon(self) -> None:
        """Close after the answers to what was received; an endless stream ends."""
        self.close_soon()
        if self.cycle is not None:
            self.cycle.keep_alive = False
            self.cycle.message_event.set()

    def close_soon(self) -> None:
        """Close after the next answer, which carries `Connection: close`.

        Proxies keep connections open, and one that is cut without notice may carry a request.
        """
        self.is_closing_soon = True
        if self.cycle is not None and not self.cycle.response_started:
            self.cycle.keep_alive = False

    def shutdown(self) -> None:
        """When the service stops: answer the requests received, then close.

        uvicorn's own method closes idle connections immediately, even those with a request on its
        way.
        """
        self.close_soon()
        is_new = self.since == self._made_at
        grace = NEW_CONNECTION_GRACE_SECONDS if is_new else USED_CONNECTION_GRACE_SECONDS
        self.loop.call_later(grace, self._close_if_silent)

    def _close_if_silent(self) -> None:
        if self.transport.is_closing():
            return
        if not self.is_done or _is_readable(self.transport):
            # A stream ends, or a request comes next: the event loop runs timers before it reads
            # sockets.
            self.loop.call_later(0.05, self._close_if_silent)
        else:
            self.transport.close()

    def close_if_late(self, now: float, idle_seconds: float) -> None:
        """Close a connection that is idle, or slower than any honest client.

        `now` is in seconds of the monotonic clock; server/ calls this for each connection.
        """
        if self._stuck_at < now - STUCK_SECONDS or self._lingers_until < now:
            self.transport.abort()
        elif self.is_discarding:
            pass
        elif self.is_between or self.is_in_head:
            if self.is_done and self.since < now - idle_seconds:
                self.transport.close()
        elif self.since < now - BODY_SECONDS:
            self.refuse(TooSlow())

    @property
    def is_done(self) -> bool:
        """True if every request that was started is answered."""
        return self.cycle is None or self.cycle.response_complete

    def refuse(self, error: ServiceError) -> None:
        """Stop reading, and answer with this error after all requests that came before."""
        is_amid_body = self.is_in_body and not self.is_discarding
        self.is_discarding = self.is_refused = True
        self.is_between = self.is_in_head = False
        if self.transport.is_closing():
            return
        if is_amid_body:
            # The endpoint that reads the body gets the error. If it has answered before the body's
            # end, the connection is closing already.
            self._body_error = error
            self.cycle.message_event.set()
        elif self.is_done:
            self._answer_error(error)
            self._linger()
        else:
            self.last_error = error

    def _answer_error(self, error: ServiceError) -> Response:
        self.metrics.refuse(error)
        answer = failed(error, "", "")
        self.transport.write(self.plain(answer, [(b"connection", b"close")]))
        return answer

    def close_gently(self) -> None:
        """Close, but linger if a request has been read in part."""
        if self.is_between:
            self.transport.close()
        else:
            self._linger()

    def _linger(self) -> None:
        """Close the sending half, and discard what the client still sends until it closes, too.

        Closing the socket with unread bytes would reset the connection, and the client might lose
        an answer that it has not read yet.
        """
        if self._lingers_until < math.inf or self.transport.is_closing():
            return
        self.is_discarding = self.is_refused = True
        self.is_between = self.is_in_head = False
        self._lingers_until = monotonic() + LINGER_SECONDS
        self._unset_keepalive_if_required()
        self.transport.write_eof()
        self.transport.resume_reading()

    def plain(self, answer: Response, more: Headers = ()) -> bytes:
        """A whole answer as bytes, with the headers that uvicorn would send."""
        headers = [*self.server_state.default_headers, *answer.headers, *more]
        return b"%b%b\r\n%b" % (STATUS_LINE[answer.status], lines(headers), answer.body)


def _is_readable(transport: asyncio.Transport) -> bool:
    """Are there bytes in the socket that were not read yet?"""
    asking = select.poll()
    asking.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(asking.poll(0))


class _AnswersTo:
    """The transport that uvicorn's cycles write to: its close() is the connection's gentle one."""

    def __init__(self, connection: Connection) -> None:
        self.write = connection.transport.write
        self.is_closing = connection.transport.is_closing
        self.close = connection.close_gently

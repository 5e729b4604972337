"""One connection to Redis with many commands in flight.

redis-py opens it, with its address, TLS, password and database. Then this class takes over the
socket: a command costs five microseconds here, and a hundred by redis-py.

Commands are never sent twice: when the connection breaks, all that are in flight fail with
StoreUnavailable, whether Redis has run them or not. Commands are not sent after their deadline.
Those without a reply by their deadline fail alone; the connection is closed when Redis has sent
nothing for the whole timeout.

The first commands on a connection to a master check that our data sets are there (data_set_id.py).

A server that answers READONLY is a replica, or has become one: the connection takes no more
commands, is closed when those in flight have their replies, and the next one asks the Sentinels, or
the name service, for the master.
"""

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from itertools import islice
from time import monotonic
from typing import Any, Protocol, cast

from hiredis import HiredisError, ProtocolError, Reader
from redis.asyncio.connection import AbstractConnection

from ..errors import StoreUnavailable
from .commands import Command
from .replies import ErrorReply, deliver, error_reply, unavailable
from .server_state import LOADING, ServerState, Stats

log = logging.getLogger(__name__)

REPLICA = "the server is a replica"
# What hiredis returns when a reply is not complete.
NO_REPLY = object()
# Called once, with a reply for each command (an ErrorReply stands for an error), or with
# StoreUnavailable. It should not raise; if it does, that is logged and nothing else is affected.
Done = Callable[[list[Any] | StoreUnavailable], None]


class Greeting(Protocol):
    """The first commands on a connection; while `failure` is not None, no other is sent."""

    @property
    def commands(self) -> Sequence[Command]: ...

    def received(self, commands: Sequence[Command], replies: Sequence[Any]) -> None: ...

    def failure(self) -> StoreUnavailable | None: ...


class CommandSender(Protocol):
    """Sends commands in one round trip and calls `done` once, by the deadline in loop time."""

    def ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None: ...

    async def close(self) -> None: ...


@dataclass(slots=True)
class _Pending:
    """Commands that are sent together; if they are not answered by `deadline` they fail, and by
    `give_up_at` the connection is closed."""

    replies: list[Any]
    expected: int
    deadline: float
    give_up_at: float
    done: Done
    sent_at: float
    first: Command


class Connection(asyncio.Protocol):
    """A CommandSender that connects when it has commands; `connections` counts how often it has."""

    def __init__(
        self,
        connection: Callable[[], AbstractConnection],
        timeout: float,
        stats: Stats,
        state: ServerState,
        greeting: Greeting,
    ) -> None:
        self.is_open = False
        self._is_closed = False
        # True while it only waits for replies to what is in flight.
        self._is_leaving = False
        self.connections = 0
        self._connection = connection
        self._timeout = timeout
        self._stats = stats
        self._state = state
        self._greeting = greeting
        # Set before `is_open`: meanwhile the greeting is in flight.
        self._transport: asyncio.Transport | None = None
        self._stream: asyncio.StreamWriter | None = None
        self._given_up = 0
        # An error in the replies to the first in the queue; a rejection, if there is one.
        self._fault: ErrorReply | None = None
        self._reader = self._new_reader()
        self._in_flight: deque[_Pending] = deque()
        self._unsent: list[tuple[bytes, _Pending]] = []
        self._opening: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        # When the timer is due, by the event loop's clock.
        self._due = math.inf

    def ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None:
        """Send commands in one write; `done` gets their replies."""
        # Without a command there is no reply, and it would take the next commands' reply.
        assert commands
        loop = self._loop = self._loop or asyncio.get_running_loop()
        now = loop.time()
        if deadline <= now or self._is_closed:
            self._stats.failed()
            deliver(done, unavailable(CLOSED if self._is_closed else LATE))
            return
        sent = b"".join(commands) if len(commands) > 1 else commands[0]
        give_up_at = now + self._timeout if now + self._timeout > deadline else deadline
        pending = _Pending([], len(commands), deadline, give_up_at, done, monotonic(), commands[0])
        if self.is_open:
            self._send(sent, pending)
            return
        self._unsent.append((sent, pending))
        self._watch(deadline)
        if self._opening is None and self._transport is None:
            self._start_opening()

    def _start_opening(self) -> None:
        # In an empty context, so that later log lines do not carry this request's id.
        self._opening = asyncio.create_task(self._open(), context=Context())

    async def close(self) -> None:
        """Close for good: later commands fail, as nothing would close a new connection."""
        self._is_closed = True
        if self._opening:
            await self._opening
        self._break(None)
        self._fail_unsent(None)
        self._state.forget()

    def _send(self, sent: bytes, pending: _Pending) -> None:
        assert self._transport is not None
        self._in_flight.append(pending)
        if pending.deadline < self._due:
            self._watch(pending.deadline)
        self._transport.write(sent)

    async def _open(self) -> None:
        deadline = asyncio.get_running_loop().time() + self._timeout
        try:
            connection = self._connection()
            async with asyncio.timeout_at(deadline):
                await connection.connect()  # type: ignore[no-untyped-call]
            transport = self._take_over(connection)
        except Exception as error:
            # Reset before the callbacks run: one may send immediately, and has to reconnect then.
            self._opening = None
            # Whatever the error is, waiting commands fail with StoreUnavailable.
            reason = error if str(error) else TimeoutError("it did not accept the connection")
            self._state.unopened(reason)
            self._fail_unsent(reason)
            return
        self._opening = None
        self._reader = self._new_reader()
        self._transport = transport
        self._greet(deadline)

    def _greet(self, deadline: float) -> None:
        commands = self._greeting.commands
        # It has the rest of the time for connecting; after that the connection is closed.
        done = partial(self._greeted, commands)
        greeting = _Pending([], len(commands), deadline, deadline, done, monotonic(), commands[0])
        self._send(b"".join(commands), greeting)

    def _greeted(self, commands: Sequence[Command], replies: list[Any] | StoreUnavailable) -> None:
        if isinstance(replies, StoreUnavailable):
            self._fail_unsent(replies.__cause__)
            return
        reply = next((reply for reply in replies if isinstance(reply, ErrorReply)), None)
        if isinstance(reply, ErrorReply) and reply.code == "LOADING":
            self._state.start(LOADING, reply)
            self._break(reply)
            self._fail_unsent(reply)
            return
        self._greeting.received(commands, replies)
        self.is_open = True
        self.connections += 1
        self._state.opened(reply)
        if failure := self._greeting.failure():
            self._fail_unsent(failure.__cause__)
            return
        now = asyncio.get_running_loop().time()
        self._fail_unsent(TimeoutError(LATE), by=now)
        unsent, self._unsent = self._unsent, []
        for sent, pending in unsent:
            pending.give_up_at = max(pending.deadline, now + self._timeout)
            # A callback that ran just now may have closed the connection.
            self._send(sent, pending) if self.is_open else self._fail([pending], None)

    def _take_over(self, connection: AbstractConnection) -> asyncio.Transport:
        """Take the socket from redis-py's connection, which would otherwise close it."""
        stream = connection._writer
        assert stream is not None
        connection._writer = connection._reader = None
        # Kept, because a stream closes its socket when it is garbage-collected.
        self._stream = stream
        transport = cast(asyncio.Transport, stream.transport)
        transport.set_protocol(self)
        return transport

    def _new_reader(self) -> Reader:
        self._fault = None
        return Reader(replyError=self._error, notEnoughData=NO_REPLY)

    def _error(self, text: str) -> ErrorReply:
        reply = error_reply(text)
        if self._state.refuses(reply) or self._fault is None:
            self._fault = reply
        return reply

    def data_received(self, data: bytes) -> None:
        reader = self._reader
        reader.feed(data)
        try:
            # Read again each time, since a callback may break the connection.
            while in_flight := self._in_flight:
                pending = in_flight[0]
                replies = pending.replies
                if pending.expected == 1:
                    if (reply := reader.gets()) is NO_REPLY:
                        return
                    replies.append(reply)
                else:
                    replies += islice(iter(reader.gets, NO_REPLY), pending.expected - len(replies))
                    if len(replies) < pending.expected:
                        return
                in_flight.popleft()
                self._stats.answered(pending.sent_at, pending.first)
                if self._fault is not None or self._state.troubles:
                    self._note_rejections(self._stats.name(pending.first))
                deliver(pending.done, pending.replies)
            if self._is_leaving and not self._in_flight:
                return self._break(ConnectionError(REPLICA))
            if self._transport is not None and reader.has_data():
                raise ProtocolError("Redis sent an unexpected reply")
        except HiredisError as error:
            self._state.unopened(error)
            self._break(error)

    def _note_rejections(self, name: str) -> None:
        """Note that the commands starting with this one were rejected, or done after all."""
        fault, self._fault = self._fault, None
        if fault is None:
            self._state.did(name)
            return
        self._state.failed(fault)
        if fault.code == "READONLY":
            # Before the callback, which may send immediately, on a new connection.
            self.is_open, self._is_leaving = False, True
            if not self._in_flight:
                self._break(ConnectionError(REPLICA))

    def connection_lost(self, error: Exception | None) -> None:
        if self._given_up:
            # This connection was aborted in `_break`; there may be another by now.
            self._given_up -= 1
            return
        self._transport = None
        reason = error or ConnectionError("the connection was closed")
        if self._in_flight:
            self._state.unopened(reason)
        self._break(reason)

    def _break(self, error: BaseException | None) -> None:
        """Close the connection and fail commands in flight, which can no longer get a reply."""
        was_leaving, self.is_open, self._is_leaving = self._is_leaving, False, False
        transport, self._transport = self._transport, None
        if transport is not None:
            self._given_up += 1
            transport.abort()
        in_flight, self._in_flight = self._in_flight, deque()
        if was_leaving and self._unsent and not self._is_closed:
            self._start_opening()
        self._fail(in_flight, error)

    def _fail_unsent(self, error: BaseException | None, by: float = math.inf) -> None:
        """Fail commands that wait for the connection, if their deadline is not after `by`."""
        unsent = self._unsent
        self._unsent = [each for each in unsent if each[1].deadline > by]
        self._fail([pending for _, pending in unsent if pending.deadline <= by], error)

    def _fail(self, several: Sequence[_Pending], error: BaseException | None) -> None:
        for pending in several:
            self._stats.failed()
            failure = StoreUnavailable()
            failure.__cause__ = error or ConnectionError("the connection was closed")
            deliver(pending.done, failure)

    def _watch(self, deadline: float) -> None:
        if deadline >= self._due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(deadline, self._on_time)
        self._due = deadline

    def _on_time(self) -> None:
        """Fail commands whose deadline is over, also after some with a later one."""
        self._timer, self._due = None, math.inf
        now = asyncio.get_running_loop().time()
        in_flight, late = self._in_flight, list[Done]()
        dues = [batch.deadline for _, batch in self._unsent if batch.deadline > now]
        dues += [in_flight[0].give_up_at] if in_flight else []
        if in_flight and in_flight[0].give_up_at <= now:
            reason = TimeoutError(SILENT)
            self._state.unopened(reason)
            self._break(reason)
            return
        for pending in in_flight:
            if pending.deadline > now:
                dues.append(pending.deadline)
            elif pending.done is not _ignore:
                # It stays in the queue: its reply may yet come, before those of later commands.
                late.append(pending.done)
                pending.done = _ignore
        if dues:
            self._watch(min(dues))
        for done in late:
            self._stats.failed()
            deliver(done, unavailable(SILENT))
        self._fail_unsent(TimeoutError(LATE), by=now)


LATE = "it was too late to ask Redis"
CLOSED = "the connection was closed for good"
SILENT = "Redis did not answer in time"


def _ignore(answer: object) -> None:
    """The callback of commands that have failed already."""

"""One connection to Redis with many questions in flight.

redis-py opens it: addresses, TLS, passwords, databases are its business. Then its socket is ours,
since redis-py's way of asking costs a hundred microseconds a question, and this costs five.

A question that was sent is never sent again: when the connection breaks, everybody who is waiting
hears StoreUnavailable, whether Redis had run their command or not. A question whose deadline is
over is not sent any more. One that is not answered by its deadline is given up by itself; the
connection is when Redis has said nothing for the whole of the timeout.

Whoever opens a connection to a master makes sure first that our data set is there (mark.py).

Who says READONLY is a replica, or has become one, and would go on saying so: the wire breaks, and
the next one asks the Sentinels, or the name service, where the master is.
"""

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol, cast

from hiredis import HiredisError, Reader
from redis.asyncio.connection import AbstractConnection

from ..errors import StoreUnavailable
from .replies import ErrorReply, error_reply, unavailable

log = logging.getLogger(__name__)

# As it goes over the wire; `pack` makes one.
Command = bytes
# Called once, with a reply a command (an error reply is an exception among them), or with what went
# wrong. It must not raise; if it does, only its own question suffers.
Done = Callable[[list[Any] | StoreUnavailable], None]


def pack(*words: object) -> Command:
    """A command of text, bytes and whole numbers."""
    return b"*%d\r\n%b" % (len(words), b"".join(map(pack_word, words)))


def pack_word(word: object) -> bytes:
    if not isinstance(word, bytes):
        # Text that is none has been refused long before; here it must not break a batch.
        word = str(word).encode(errors="replace")
    return b"$%d\r\n%b\r\n" % (len(word), word)


class Trouble(Protocol):
    """Hears that the server does not answer, and that it does again; see stats.py."""

    def goes_on(self, reason: object) -> None: ...

    def ends(self) -> None: ...


class Noted(Protocol):
    """Hears of each question how it went: when it was asked, and what; see stats.py."""

    def answered(self, asked_at: float, command: Command) -> None: ...

    def failed(self) -> None: ...

    def refuse(self, reply: ErrorReply) -> None: ...


class Greeting(Protocol):
    """What is asked first on a connection; nothing else is while `failure` gives a reason."""

    question: Command

    def heard(self, reply: Any) -> None: ...

    def failure(self) -> StoreUnavailable | None: ...


class CommandSender(Protocol):
    """Sends commands in one round trip and calls `done` once, by the deadline."""

    def ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None: ...

    async def close(self) -> None: ...


@dataclass(slots=True)
class _Question:
    """`deadline` is the asker's; the connection has until `patience` to answer it."""

    replies: list[Any]
    expected: int
    deadline: float
    patience: float
    done: Done
    asked_at: float
    first: Command


class Connection(asyncio.Protocol):
    """Opens itself at the first question, and again at the first one after it broke.

    `connections` is how many have been opened so far.
    """

    def __init__(
        self,
        connection: Callable[[], AbstractConnection],
        timeout: float,
        stats: Noted,
        trouble: Trouble,
        greeting: Greeting,
    ) -> None:
        self.is_open = False
        self._is_closed = False
        self.connections = 0
        self._connection = connection
        self._timeout = timeout
        self._stats = stats
        self._trouble = trouble
        self._greeting = greeting
        # There before the wire is open: while it is greeted.
        self._transport: asyncio.Transport | None = None
        self._stream: asyncio.StreamWriter | None = None
        self._given_up = 0
        self._is_demoted = False
        self._reader = self._new_reader()
        self._asked: deque[_Question] = deque()
        self._unsent: list[tuple[bytes, _Question]] = []
        self._opening: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        # When that will be.
        self._due = math.inf

    def ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None:
        """Send commands, one at least, in one write; `done` hears their replies."""
        # A question without a reply would keep the next one's.
        assert commands
        loop = asyncio.get_running_loop()
        now = loop.time()
        if deadline <= now or self._is_closed:
            self._stats.failed()
            deliver(done, unavailable(CLOSED if self._is_closed else LATE))
            return
        sent = b"".join(commands)
        patience = max(deadline, now + self._timeout)
        question = _Question([], len(commands), deadline, patience, done, monotonic(), commands[0])
        if self.is_open:
            self._send(sent, question)
            return
        self._unsent.append((sent, question))
        self._watch(deadline)
        if self._opening is None and self._transport is None:
            # In no context: what is logged of it later is not of the request that opens it.
            self._opening = loop.create_task(self._open(), context=Context())

    async def close(self) -> None:
        """For good: whoever asks later would open a connection that nobody closes."""
        self._is_closed = True
        if self._opening:
            await self._opening
        self._break(None)

    def _send(self, sent: bytes, question: _Question) -> None:
        assert self._transport is not None
        self._asked.append(question)
        self._watch(question.deadline)
        self._transport.write(sent)

    async def _open(self) -> None:
        deadline = asyncio.get_running_loop().time() + self._timeout
        try:
            connection = self._connection()
            async with asyncio.timeout_at(deadline):
                await connection.connect()  # type: ignore[no-untyped-call]
            transport = self._take_over(connection)
        except Exception as error:
            # First, since whoever is told may ask again at once, and then it is to be opened again.
            self._opening = None
            # Whatever keeps a connection from opening, the answer to those who wait is the same.
            reason = error if str(error) else TimeoutError("it cannot be connected to in time")
            self._trouble.goes_on(reason)
            self._fail_unsent(reason)
            return
        self._opening = None
        self._reader = self._new_reader()
        self._transport = transport
        self._greet(deadline)

    def _greet(self, deadline: float) -> None:
        question = self._greeting.question
        # By the deadline of who has opened it, and with no more patience.
        greeting = _Question([], 1, deadline, deadline, self._greeted, monotonic(), question)
        self._send(question, greeting)

    def _greeted(self, replies: list[Any] | StoreUnavailable) -> None:
        if isinstance(replies, StoreUnavailable):
            self._fail_unsent(replies.__cause__)
            return
        (reply,) = replies
        if isinstance(reply, ErrorReply) and reply.code == "LOADING":
            self._trouble.goes_on(reply)
            self._break(reply)
            self._fail_unsent(reply)
            return
        self._greeting.heard(reply)
        self.is_open = True
        self.connections += 1
        self._trouble.ends()
        if failure := self._greeting.failure():
            self._fail_unsent(failure.__cause__)
            return
        now = asyncio.get_running_loop().time()
        self._fail_unsent(TimeoutError(LATE), by=now)
        unsent, self._unsent = self._unsent, []
        for sent, question in unsent:
            question.patience = max(question.deadline, now + self._timeout)
            # Who was told that it was too late may have closed the wire meanwhile.
            self._send(sent, question) if self.is_open else self._fail([question], None)

    def _take_over(self, connection: AbstractConnection) -> asyncio.Transport:
        """The connection's socket; redis-py forgets it, or would close it with the connection."""
        stream = connection._writer
        assert stream is not None
        connection._writer = connection._reader = None
        # A stream closes its socket when it is collected.
        self._stream = stream
        transport = cast(asyncio.Transport, stream.transport)
        transport.set_protocol(self)
        return transport

    def _new_reader(self) -> Reader:
        self._is_demoted = False
        return Reader(replyError=self._error)

    def _error(self, text: str) -> ErrorReply:
        reply = error_reply(text)
        self._is_demoted = self._is_demoted or reply.code == "READONLY"
        self._stats.refuse(reply)
        return reply

    def data_received(self, data: bytes) -> None:
        reader, asked = self._reader, self._asked
        reader.feed(data)
        try:
            while (reply := reader.gets()) is not False:
                question = asked[0]
                question.replies.append(reply)
                if len(question.replies) == question.expected:
                    asked.popleft()
                    self._stats.answered(question.asked_at, question.first)
                    if self._is_demoted:
                        # First, since whoever hears it may ask again at once.
                        self._break(ConnectionError("the server is a replica"))
                        return deliver(question.done, question.replies)
                    deliver(question.done, question.replies)
        except (HiredisError, IndexError) as error:
            self._trouble.goes_on(error)
            self._break(error)

    def connection_lost(self, error: Exception | None) -> None:
        if self._given_up:
            # News of a connection that we broke ourselves; there may be another by now.
            self._given_up -= 1
            return
        self._transport = None
        reason = error or ConnectionError("the connection was closed")
        if self._asked:
            self._trouble.goes_on(reason)
        self._break(reason)

    def _break(self, error: BaseException | None) -> None:
        """Nothing that is in flight can be matched with its reply any more."""
        self.is_open = False
        transport, self._transport = self._transport, None
        if transport is not None:
            self._given_up += 1
            transport.abort()
        asked, self._asked = self._asked, deque()
        self._fail(asked, error)

    def _fail_unsent(self, error: BaseException | None, by: float = math.inf) -> None:
        """Those who must be answered by then; the others go on waiting for the connection."""
        unsent = self._unsent
        self._unsent = [each for each in unsent if each[1].deadline > by]
        self._fail([question for _, question in unsent if question.deadline <= by], error)

    def _fail(self, questions: Sequence[_Question], error: BaseException | None) -> None:
        for question in questions:
            self._stats.failed()
            failure = StoreUnavailable()
            failure.__cause__ = error or ConnectionError("the connection was closed")
            deliver(question.done, failure)

    def _watch(self, deadline: float) -> None:
        if deadline >= self._due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(deadline, self._on_time)
        self._due = deadline

    def _on_time(self) -> None:
        """Questions are answered in order: those that have waited longest come first."""
        self._timer, self._due = None, math.inf
        now = asyncio.get_running_loop().time()
        asked, late = self._asked, list[Done]()
        dues = [each.deadline for _, each in self._unsent if each.deadline > now]
        dues += [asked[0].patience] if asked else []
        if asked and asked[0].patience <= now:
            reason = TimeoutError(SILENT)
            self._trouble.goes_on(reason)
            self._break(reason)
            return
        for question in asked:
            if question.deadline > now:
                dues.append(question.deadline)
                break
            if question.done is not _nobody:
                # Its reply may yet come, and is nobody's then: others wait for theirs behind it.
                late.append(question.done)
                question.done = _nobody
        if dues:
            self._watch(min(dues))
        for done in late:
            self._stats.failed()
            deliver(done, unavailable(SILENT))
        self._fail_unsent(TimeoutError(LATE), by=now)


LATE = "it was too late to ask Redis"
CLOSED = "the connection was closed for good"
SILENT = "Redis did not answer in time"


def _nobody(answer: object) -> None:
    """Hears what nobody waits for any more."""


def deliver(done: Callable[[Any], None], answer: Any) -> None:
    """Deliver an answer; an exception of whoever hears it harms nobody else."""
    try:
        done(answer)
    except Exception:
        log.exception("an answer from Redis could not be delivered")

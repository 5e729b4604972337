"""One connection to Redis with many questions in flight.

redis-py opens it: addresses, TLS, passwords, databases are its business. Then its socket is ours,
since redis-py's way of asking costs a hundred microseconds a question, and this costs five.

A question that was sent is never sent again: when the connection breaks, everybody who is waiting
hears StoreUnavailable, whether Redis had run their command or not.

Who says READONLY is a replica, or has become one, and would go on saying so: the wire breaks, and
the next one asks the Sentinels, or the name service, where the master is.
"""

import asyncio
import logging
import re
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context
from time import monotonic
from typing import Any, NamedTuple, Protocol, cast

from hiredis import HiredisError, Reader, ReplyError
from redis.asyncio.connection import AbstractConnection

from ..errors import StoreUnavailable

log = logging.getLogger(__name__)

# As it goes over the wire; `pack` makes one.
Command = bytes
# Called once, with a reply a command (an error reply is an exception among them), or with what went
# wrong. It must not raise; if it does, only its own question suffers.
Done = Callable[[list[Any] | StoreUnavailable], None]

# Redis 6.2 puts the place in a script before the word by which an error is known.
_IN_SCRIPT = re.compile(r".*@user_script: \d+: -")


def pack(*words: object) -> Command:
    """A command of text, bytes and whole numbers."""
    return b"*%d\r\n%b" % (len(words), b"".join(map(pack_word, words)))


def pack_word(word: object) -> bytes:
    if not isinstance(word, bytes):
        # Text that is none has been refused long before; here it must not break a batch.
        word = str(word).encode(errors="replace")
    return b"$%d\r\n%b\r\n" % (len(word), word)


class Noted(Protocol):
    """Hears of each question how it went: when it was asked, and what; see notes.py."""

    def answered(self, asked_at: float, command: Command) -> None: ...

    def failed(self) -> None: ...


class Door(Protocol):
    """Sends commands in one round trip and calls `done` once, by the deadline."""

    def ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None: ...

    async def close(self) -> None: ...


class _Question(NamedTuple):
    replies: list[Any]
    expected: int
    deadline: float
    done: Done
    asked_at: float
    first: Command


class Wire(asyncio.Protocol):
    """Opens itself at the first question, and again at the first one after it broke."""

    def __init__(
        self, connection: Callable[[], AbstractConnection], timeout: float, notes: Noted
    ) -> None:
        self._connection = connection
        self._timeout = timeout
        self._notes = notes
        self._transport: asyncio.Transport | None = None
        self._stream: asyncio.StreamWriter | None = None
        self._given_up = 0
        self._is_demoted = False
        self._reader = self._new_reader()
        self._asked: deque[_Question] = deque()
        self._unsent: list[tuple[bytes, _Question]] = []
        self._opening: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None:
        """Send commands, one at least, in one write; `done` hears their replies."""
        # A question without a reply would keep the next one's.
        assert commands
        sent = b"".join(commands)
        question = _Question([], len(commands), deadline, done, monotonic(), commands[0])
        if self._transport is None:
            self._unsent.append((sent, question))
            if self._opening is None:
                # In no context: what is logged of it later is not of the request that opens it.
                loop = asyncio.get_running_loop()
                self._opening = loop.create_task(self._open(), context=Context())
            return
        self._send(sent, question)

    async def close(self) -> None:
        if self._opening:
            await self._opening
        self._break(None)

    def _send(self, sent: bytes, question: _Question) -> None:
        assert self._transport is not None
        self._asked.append(question)
        if self._timer is None:
            self._watch(question.deadline)
        self._transport.write(sent)

    async def _open(self) -> None:
        try:
            connection = self._connection()
            async with asyncio.timeout(self._timeout):
                await connection.connect()  # type: ignore[no-untyped-call]
            transport = self._take_over(connection)
        except Exception as error:
            # First, since whoever is told may ask again at once, and then it is to be opened again.
            self._opening = None
            # Whatever keeps a connection from opening, the answer to those who wait is the same.
            reason = error if str(error) else TimeoutError("it cannot be connected to in time")
            self._fail([question for _, question in self._take_unsent()], reason)
            return
        self._opening = None
        self._reader = self._new_reader()
        self._transport = transport
        for sent, question in self._take_unsent():
            self._send(sent, question)

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

    def _error(self, text: str) -> ReplyError:
        """An error reply, also one in the array that a script has returned."""
        text = _IN_SCRIPT.sub("", text)
        self._is_demoted = self._is_demoted or text.startswith("READONLY")
        return ReplyError(text)

    def _take_unsent(self) -> list[tuple[bytes, _Question]]:
        unsent, self._unsent = self._unsent, []
        return unsent

    def data_received(self, data: bytes) -> None:
        reader, asked = self._reader, self._asked
        reader.feed(data)
        try:
            while (reply := reader.gets()) is not False:
                question = asked[0]
                question.replies.append(reply)
                if len(question.replies) == question.expected:
                    asked.popleft()
                    self._notes.answered(question.asked_at, question.first)
                    if self._is_demoted:
                        # First, since whoever hears it may ask again at once.
                        self._break(ConnectionError("the server is a replica"))
                        return tell(question.done, question.replies)
                    tell(question.done, question.replies)
        except (HiredisError, IndexError) as error:
            self._break(error)

    def connection_lost(self, error: Exception | None) -> None:
        if self._given_up:
            # News of a connection that we broke ourselves; there may be another by now.
            self._given_up -= 1
            return
        self._transport = None
        self._break(error)

    def _break(self, error: BaseException | None) -> None:
        """Nothing that is in flight can be matched with its reply any more."""
        transport, self._transport = self._transport, None
        if transport is not None:
            self._given_up += 1
            transport.abort()
        asked, self._asked = self._asked, deque()
        self._fail(asked, error)

    def _fail(self, questions: Sequence[_Question], error: BaseException | None) -> None:
        for question in questions:
            self._notes.failed()
            failure = StoreUnavailable()
            failure.__cause__ = error or ConnectionError("the connection was closed")
            tell(question.done, failure)

    def _watch(self, deadline: float) -> None:
        self._timer = asyncio.get_running_loop().call_at(deadline, self._on_time)

    def _on_time(self) -> None:
        """Questions are answered in order, so the first is the one that has waited longest."""
        self._timer = None
        if not self._asked:
            return
        deadline = self._asked[0].deadline
        if deadline <= asyncio.get_running_loop().time():
            self._break(TimeoutError("Redis did not answer in time"))
        else:
            self._watch(deadline)


def tell(done: Callable[[Any], None], answer: Any) -> None:
    """Deliver an answer; an exception of whoever hears it harms nobody else."""
    try:
        done(answer)
    except Exception:
        log.exception("an answer from Redis could not be delivered")

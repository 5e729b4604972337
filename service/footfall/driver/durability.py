"""Changes that are acknowledged only when they are as durable as DURABILITY requires.

With `appendfsync always` Redis itself answers only after it has flushed its append-only file.
Otherwise, WAITAOF waits for the disk, and WAIT for replicas. Either blocks its connection, so
changes have a connection of their own; one wait confirms all changes that came during the last one.

Each new connection first reads how its server flushes, since behind Sentinels and in a Cluster each
server may be set differently. It is read again after each check of safety.py.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from ..errors import StoreUnavailable
from ..model import Durability
from .commands import Command, pack
from .connection import LATE, Connection, Done
from .replies import deliver, unavailable
from .server_state import ServerState

# WAIT's own time-out is so much shorter that its answer "too few" still comes in time.
WAIT_SHARE_OF_TIMEOUT = 0.6
# With `appendfsync everysec` a flush may take a second, and two when the disk is busy.
DISK_SECONDS = 2.0
# Reads appendonly and appendfsync.
_GET_APPEND_SETTINGS = pack("CONFIG", "GET", "append*")


@dataclass(slots=True)
class Wait:
    """The command that is sent after changes; all senders of one service share this object.

    It takes up to `seconds`, and confirms if its number is at least `least`. With `may_flush` a
    server with `appendfsync always` needs no wait; `checks` is raised to have its settings read
    again.
    """

    least: int
    seconds: float
    command: Command
    may_flush: bool = False
    checks: int = 0

    def is_over(self, reply: Any) -> bool:
        """WAIT returns a number of replicas; WAITAOF two numbers of disks, here and at replicas."""
        number = reply[0] if isinstance(reply, list) else reply
        return isinstance(number, int) and number >= self.least


def wait_for(durability: Durability, timeout: float) -> Wait | None:
    """The wait for this level; None if it needs none. `timeout` is in seconds."""
    seconds = timeout * WAIT_SHARE_OF_TIMEOUT
    match durability.level:
        case "replica":
            command = pack("WAIT", durability.replicas, round(seconds * 1000))
            return Wait(durability.replicas, seconds, command)
        case "fsync":
            seconds = max(seconds, DISK_SECONDS)
            return Wait(1, seconds, pack("WAITAOF", 1, 0, round(seconds * 1000)), may_flush=True)
    return None


class _Waiting(NamedTuple):
    commands: Sequence[Command]
    done: Done
    deadline: float


class DurableSender:
    """A CommandSender that passes replies on when the changes are durable.

    If that is not confirmed in time, callers get StoreUnavailable: the change was made, and may or
    may not survive a crash.
    """

    def __init__(
        self, connection: Connection, wait: Wait, timeout: float, state: ServerState
    ) -> None:
        self._connection = connection
        self._wait = wait
        self._timeout = timeout
        self._state = state
        self._next: list[_Waiting] = []
        self._is_waiting = False
        # (connections opened, checks of safety.py) when the server's settings were read.
        self._known_of = (0, 0)
        self._flushes = False

    def ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None:
        if self._flushes and not self._is_waiting and self._is_known():
            self._connection.ask(commands, done, deadline)
            return
        self._next.append(_Waiting(commands, done, deadline))
        if not self._is_waiting:
            self._send()

    def _send(self) -> None:
        if self._wait.may_flush and not self._is_known():
            self._is_waiting = True
            deadline = asyncio.get_running_loop().time() + self._timeout
            self._connection.ask([_GET_APPEND_SETTINGS], self._learnt, deadline)
            return
        waiting = self._take_next()
        if self._flushes:
            for each in waiting:
                self._connection.ask(*each)
        elif waiting:
            self._is_waiting = True
            commands = [command for each in waiting for command in each.commands]
            # The wait may outlast a change's own deadline, so it has one of its own.
            grace = self._timeout * (1 - WAIT_SHARE_OF_TIMEOUT)
            deadline = asyncio.get_running_loop().time() + self._wait.seconds + grace
            arrived = partial(self._arrived, waiting)
            self._connection.ask([*commands, self._wait.command], arrived, deadline)

    def _take_next(self) -> list[_Waiting]:
        """The waiting changes, without those whose deadline is over: these fail."""
        waiting, self._next = self._next, []
        now = asyncio.get_running_loop().time()
        late = [each for each in waiting if each.deadline <= now]
        if late:
            waiting = [each for each in waiting if each.deadline > now]
            for each in late:
                deliver(each.done, unavailable(LATE))
        return waiting

    def _is_known(self) -> bool:
        known_of = (self._connection.connections, self._wait.checks)
        return self._connection.is_open and self._known_of == known_of

    def _learnt(self, replies: list[Any] | StoreUnavailable) -> None:
        """Note how the server flushes. Many hosts reject CONFIG: then changes wait."""
        self._is_waiting = False
        if isinstance(replies, StoreUnavailable):
            self._fail_next(replies)
            return
        self._known_of = (self._connection.connections, self._wait.checks)
        (reply,) = replies
        words = reply if isinstance(reply, list) else []
        facts = dict(zip(words[::2], words[1::2], strict=True))
        self._flushes = facts.get(b"appendonly") == b"yes" and facts[b"appendfsync"] == b"always"
        if self._flushes:
            # From now on each answer is a confirmation.
            self._state.confirmed()
        self._send()

    def _arrived(self, waiting: Sequence[_Waiting], replies: list[Any] | StoreUnavailable) -> None:
        self._is_waiting = False
        if isinstance(replies, StoreUnavailable):
            for each in waiting:
                deliver(each.done, replies)
            # Changes that came meanwhile have waited too long for a retry.
            self._fail_next(replies)
            return
        if self._next:
            self._send()
        *offsets, confirmation = replies
        is_over, rest = self._wait.is_over(confirmation), iter(offsets)
        if is_over:
            self._state.confirmed()
        else:
            self._state.unconfirmed(_unconfirmed(confirmation).__cause__)
        for each in waiting:
            mine = list(islice(rest, len(each.commands)))
            deliver(each.done, mine if is_over else _unconfirmed(confirmation))

    def _fail_next(self, error: StoreUnavailable) -> None:
        behind, self._next = self._next, []
        for each in behind:
            deliver(each.done, error)

    async def close(self) -> None:
        await self._connection.close()


def _unconfirmed(confirmation: Any) -> StoreUnavailable:
    if not isinstance(confirmation, Exception):
        return unavailable(f"the change was not confirmed in time: {confirmation}")
    error = StoreUnavailable()
    error.__cause__ = confirmation
    return error

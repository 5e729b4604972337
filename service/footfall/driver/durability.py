"""Changes that are acknowledged only when they are as safe as DURABILITY says.

Where Redis itself does not hold its answer back until then (an append-only file with `appendfsync
always` does), it is asked to say when: WAITAOF for the disk, WAIT for replicas. Either blocks the
connection it is asked on, so changes have one of their own; one wait serves all that were asked
while the one before was under way.

How a server keeps its file is asked on each new connection, before the first change, and again
after each look at it (safety.py): behind Sentinels and in a Cluster the next may be set otherwise.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from ..errors import StoreUnavailable
from ..model import Durability
from .connection import LATE, Command, Connection, Done, Trouble, deliver, pack
from .replies import unavailable

# Redis gives up first, so that its answer, too few, still comes in time.
SHARE_OF_TIMEOUT = 0.6
# With `appendfsync everysec` the disk is a second away, and two when it is busy.
DISK_SECONDS = 2.0
# Whether there is a file at all, and when it is flushed.
_HOW_FILE_IS_KEPT = pack("CONFIG", "GET", "append*")


@dataclass(slots=True)
class Wait:
    """What is asked after changes, for how long; all senders of one service share it.

    `may_flush` says that a server may do without, if it is set so; `looks` is raised when that is
    to be asked anew.
    """

    least: int
    seconds: float
    command: Command
    may_flush: bool = False
    looks: int = 0

    def is_over(self, reply: Any) -> bool:
        """WAIT says how many replicas have it; WAITAOF how many disks, here and at replicas."""
        number = reply[0] if isinstance(reply, list) else reply
        return isinstance(number, int) and number >= self.least


def wait_for(durability: Durability, timeout: float) -> Wait | None:
    """None for the levels at which nobody ever waits."""
    seconds = timeout * SHARE_OF_TIMEOUT
    match durability.level:
        case "replica":
            command = pack("WAIT", durability.replicas, round(seconds * 1000))
            return Wait(durability.replicas, seconds, command)
        case "fsync":
            seconds = max(seconds, DISK_SECONDS)
            return Wait(1, seconds, pack("WAITAOF", 1, 0, round(seconds * 1000)), may_flush=True)
    return None


class _Asked(NamedTuple):
    commands: Sequence[Command]
    done: Done
    deadline: float


class DurableSender:
    """A sender that hands its answers on when what was changed is safe.

    When it is not safe in time, everybody hears StoreUnavailable: the change is made and counts,
    but nobody was promised that it stays.
    """

    def __init__(self, wire: Connection, wait: Wait, timeout: float, trouble: Trouble) -> None:
        self._wire = wire
        self._wait = wait
        self._timeout = timeout
        self._trouble = trouble
        self._next: list[_Asked] = []
        self._is_waiting = False
        # Of which connection, and after how many looks, it is known whether the server flushes.
        self._known_of = (0, 0)
        self._flushes = False

    def ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None:
        self._next.append(_Asked(commands, done, deadline))
        if not self._is_waiting:
            self._send()

    def _send(self) -> None:
        if self._wait.may_flush and not self._is_known():
            self._is_waiting = True
            deadline = asyncio.get_running_loop().time() + self._timeout
            self._wire.ask([_HOW_FILE_IS_KEPT], self._learnt, deadline)
            return
        asked = self._take_next()
        if self._flushes:
            for each in asked:
                self._wire.ask(*each)
        elif asked:
            self._is_waiting = True
            commands = [command for each in asked for command in each.commands]
            # Of their own deadlines some may be over before the wait is.
            grace = self._timeout * (1 - SHARE_OF_TIMEOUT)
            deadline = asyncio.get_running_loop().time() + self._wait.seconds + grace
            arrived = partial(self._arrived, asked)
            self._wire.ask([*commands, self._wait.command], arrived, deadline)

    def _take_next(self) -> list[_Asked]:
        """Those who wait, but for those who have waited for too long: they are told so."""
        asked, self._next = self._next, []
        now = asyncio.get_running_loop().time()
        late = [each for each in asked if each.deadline <= now]
        if late:
            asked = [each for each in asked if each.deadline > now]
            for each in late:
                deliver(each.done, unavailable(LATE))
        return asked

    def _is_known(self) -> bool:
        known_of = (self._wire.connections, self._wait.looks)
        return self._wire.is_open and self._known_of == known_of

    def _learnt(self, replies: list[Any] | StoreUnavailable) -> None:
        """How this server keeps its file; where that is not told, as by many hosts, ask it."""
        self._is_waiting = False
        if isinstance(replies, StoreUnavailable):
            self._fail_next(replies)
            return
        self._known_of = (self._wire.connections, self._wait.looks)
        (reply,) = replies
        words = reply if isinstance(reply, list) else []
        facts = dict(zip(words[::2], words[1::2], strict=True))
        self._flushes = facts.get(b"appendonly") == b"yes" and facts[b"appendfsync"] == b"always"
        self._send()

    def _arrived(self, asked: Sequence[_Asked], replies: list[Any] | StoreUnavailable) -> None:
        self._is_waiting = False
        if isinstance(replies, StoreUnavailable):
            for each in asked:
                deliver(each.done, replies)
            # Those behind have waited long enough to be told the same.
            self._fail_next(replies)
            return
        if self._next:
            self._send()
        *found, confirmation = replies
        is_over, rest = self._wait.is_over(confirmation), iter(found)
        if is_over:
            self._trouble.ends()
        else:
            self._trouble.goes_on(_unconfirmed(confirmation).__cause__)
        for each in asked:
            mine = list(islice(rest, len(each.commands)))
            deliver(each.done, mine if is_over else _unconfirmed(confirmation))

    def _fail_next(self, error: StoreUnavailable) -> None:
        behind, self._next = self._next, []
        for each in behind:
            deliver(each.done, error)

    async def close(self) -> None:
        await self._wire.close()


def _unconfirmed(confirmation: Any) -> StoreUnavailable:
    if not isinstance(confirmation, Exception):
        return unavailable(f"the change was not confirmed in time: {confirmation}")
    error = StoreUnavailable()
    error.__cause__ = confirmation
    return error

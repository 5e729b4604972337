"""Changes that are acknowledged only when they are as safe as DURABILITY says.

Where Redis itself does not hold its answer back until then (an append-only file with `appendfsync
always` does), it is asked to say when: WAITAOF for the disk, WAIT for replicas. Either blocks the
connection it is asked on, so changes have one of their own; one wait serves all that were asked
while the one before was under way.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from ..errors import StoreUnavailable
from ..model import Durability
from .wire import Command, Done, Door, pack, tell

# Redis gives up first, so that its answer, too few, still comes in time.
SHARE_OF_TIMEOUT = 0.6
# With `appendfsync everysec` the disk is a second away, and two when it is busy.
DISK_SECONDS = 2.0


@dataclass(slots=True)
class Wait:
    """What is asked after changes, for how long; nothing while Redis keeps the level by itself.

    All doors of one service share it, since the server's settings may change under way (watch.py).
    """

    least: int
    seconds: float
    command: Command | None = None

    def is_over(self, reply: Any) -> bool:
        """WAIT says how many replicas have it; WAITAOF how many disks, here and at replicas."""
        number = reply[0] if isinstance(reply, list) else reply
        return isinstance(number, int) and number >= self.least

    def until_on_disk(self, *, is_needed: bool) -> None:
        milliseconds = round(self.seconds * 1000)
        self.command = pack("WAITAOF", 1, 0, milliseconds) if is_needed else None


def wait_for(durability: Durability, timeout: float) -> Wait | None:
    """None for the levels at which nobody ever waits."""
    seconds = timeout * SHARE_OF_TIMEOUT
    match durability.level:
        case "replica":
            command = pack("WAIT", durability.replicas, round(seconds * 1000))
            return Wait(durability.replicas, seconds, command)
        case "fsync":
            return Wait(1, max(seconds, DISK_SECONDS))
    return None


class _Asked(NamedTuple):
    commands: Sequence[Command]
    done: Done
    deadline: float


class Confirmed:
    """A door that hands its answers on when what was changed is safe.

    When it is not safe in time, everybody hears StoreUnavailable: the change is made and counts,
    but nobody was promised that it stays.
    """

    def __init__(self, door: Door, wait: Wait, timeout: float) -> None:
        self._door = door
        self._wait = wait
        self._timeout = timeout
        self._next: list[_Asked] = []
        self._is_waiting = False

    def ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None:
        self._next.append(_Asked(commands, done, deadline))
        if not self._is_waiting:
            self._send()

    def _send(self) -> None:
        asked, self._next = self._next, []
        wait = self._wait.command
        if wait is None:
            for each in asked:
                self._door.ask(*each)
            return
        self._is_waiting = True
        commands = [command for each in asked for command in each.commands]
        # Of their own deadlines some may be over before the wait is.
        grace = self._timeout * (1 - SHARE_OF_TIMEOUT)
        deadline = asyncio.get_running_loop().time() + self._wait.seconds + grace
        self._door.ask([*commands, wait], partial(self._arrived, asked), deadline)

    def _arrived(self, asked: Sequence[_Asked], replies: list[Any] | StoreUnavailable) -> None:
        self._is_waiting = False
        if isinstance(replies, StoreUnavailable):
            # Those behind have waited long enough to be told the same.
            behind, self._next = self._next, []
            for each in (*asked, *behind):
                tell(each.done, replies)
            return
        if self._next:
            self._send()
        *found, confirmation = replies
        is_over, rest = self._wait.is_over(confirmation), iter(found)
        for each in asked:
            mine = list(islice(rest, len(each.commands)))
            tell(each.done, mine if is_over else _unconfirmed(confirmation))

    async def close(self) -> None:
        await self._door.close()


def _unconfirmed(confirmation: Any) -> StoreUnavailable:
    error = StoreUnavailable()
    error.__cause__ = (
        confirmation
        if isinstance(confirmation, Exception)
        else TimeoutError(f"the change was not confirmed in time: {confirmation}")
    )
    return error

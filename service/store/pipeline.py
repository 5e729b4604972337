"""Questions of one turn of the event loop, sent in one write.

What takes Redis its time, as a page does, must not go with counters in their batch, which is
answered as a whole: here a few leave together, and the next few while those are answered. Each has
its own answer.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from ..errors import StoreUnavailable
from .connect import Connected
from .replies import failure
from .wire import Command

# In one write: so Redis works on some while we make something of others.
AT_ONCE = 4

Waiting = tuple[Command, "asyncio.Future[Any]"]


class Pipeline:
    def __init__(self, redis: Connected) -> None:
        self._redis = redis
        # What asks several nodes is answered when all of them have.
        self._at_once = 1 if redis.is_cluster else AT_ONCE
        self._forming: list[Waiting] = []

    async def send(self, command: Command) -> Any:
        """The reply to a command. Raises StoreUnavailable; ErrorReply for any other error reply."""
        return sound(await self.ask(command))

    def ask(self, command: Command) -> "asyncio.Future[Any]":
        """For the reply to a command, or what went wrong: `sound` raises it."""
        self._redis.mark.check()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._forming.append((command, future))
        if len(self._forming) >= self._at_once:
            self._leave()
        elif len(self._forming) == 1:
            loop.call_soon(self._leave)
        return future

    def _leave(self) -> None:
        leaving, self._forming = self._forming, []
        if leaving:
            commands = [command for command, _ in leaving]
            self._redis.door.ask(commands, partial(_arrived, leaving), self._redis.deadline())


def sound(reply: Any) -> Any:
    """A reply that is none of an error. Raises StoreUnavailable, ErrorReply."""
    if isinstance(reply, Exception):
        raise failure(reply)
    return reply


def _arrived(asked: Sequence[Waiting], replies: list[Any] | StoreUnavailable) -> None:
    if isinstance(replies, StoreUnavailable):
        replies = [replies] * len(asked)
    for (_, future), reply in zip(asked, replies, strict=True):
        # Whoever asked may have gone.
        if not future.done():
            future.set_result(reply)

"""Questions of one turn of the event loop, sent in one write.

What takes Redis its time, as a page does, must not go with counters in their batch, which is
answered as a whole: here a few leave together, and the next few while those are answered. Each has
its own answer.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from itertools import chain, islice, repeat
from typing import Any

from ..errors import StoreUnavailable
from .client import Connected
from .connection import Command, pack
from .replies import failure

# Questions in one write: so Redis works on some while we make something of others.
AT_ONCE = 2

Waiting = tuple[Sequence[Command], "asyncio.Future[list[Any]]"]


class Pipeline:
    def __init__(self, redis: Connected) -> None:
        self._redis = redis
        # What asks several nodes is answered when all of them have.
        self.at_once = 1 if redis.is_cluster else AT_ONCE
        self._forming: list[Waiting] = []

    @staticmethod
    def command(*words: object) -> Command:
        """For `send`, made once if it is always the same."""
        return pack(*words)

    async def send(self, *commands: Command) -> list[Any]:
        """Their replies. Raises StoreUnavailable; ErrorReply for any other error reply."""
        self._redis.mark.check()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[Any]] = loop.create_future()
        self._forming.append((commands, future))
        if len(self._forming) >= self.at_once:
            self._leave()
        elif len(self._forming) == 1:
            loop.call_soon(self._leave)
        replies = await future
        for reply in replies:
            if isinstance(reply, Exception):
                raise failure(reply)
        return replies

    def _leave(self) -> None:
        leaving, self._forming = self._forming, []
        if leaving:
            commands = list(chain.from_iterable(commands for commands, _ in leaving))
            self._redis.sender.ask(commands, partial(_arrived, leaving), self._redis.deadline())


def _arrived(asked: Sequence[Waiting], replies: list[Any] | StoreUnavailable) -> None:
    found = repeat(replies) if isinstance(replies, StoreUnavailable) else iter(replies)
    for commands, future in asked:
        own = list(islice(found, len(commands)))
        # Whoever asked may have gone.
        if not future.done():
            future.set_result(own)

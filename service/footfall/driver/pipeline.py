"""Commands of one turn of the event loop, sent in one write.

Slow commands, such as the script for a page, must not join the counters' batches, which are
answered as a whole. Here a few are sent together, and the next few while those are answered. Each
has its own answer.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from itertools import chain, islice, repeat
from typing import Any

from ..errors import StoreUnavailable
from .client import RedisClient
from .commands import Command, pack
from .replies import failure

# Sends that share a write. Few, so that Redis works on the next while this process uses the last.
MAX_SENDS_A_WRITE = 2

Waiting = tuple[Sequence[Command], "asyncio.Future[list[Any]]"]


class Pipeline:
    def __init__(self, redis: RedisClient) -> None:
        self._redis = redis
        # On a Cluster a write to several nodes would be answered by the slowest of them.
        self.most_a_write = 1 if redis.is_cluster else MAX_SENDS_A_WRITE
        self._forming: list[Waiting] = []

    @staticmethod
    def command(*arguments: object) -> Command:
        """A packed command for `send`; one that is always the same can be packed once."""
        return pack(*arguments)

    async def send(self, *commands: Command) -> list[Any]:
        """The replies to commands. Raises StoreUnavailable, and ErrorReply for any other error
        reply."""
        self._redis.data_set_ids.check()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[Any]] = loop.create_future()
        self._forming.append((commands, future))
        if len(self._forming) >= self.most_a_write:
            self._leave()
        elif len(self._forming) == 1:
            loop.call_soon(self._leave)
        replies = await future
        for reply in replies:
            if isinstance(reply, Exception):
                raise failure(reply)
        return replies

    async def send_one(self, command: Command) -> Any:
        """The reply to one command. Raises as `send` does."""
        (reply,) = await self.send(command)
        return reply

    def _leave(self) -> None:
        leaving, self._forming = self._forming, []
        if leaving:
            commands = list(chain.from_iterable(commands for commands, _ in leaving))
            self._redis.sender.ask(commands, partial(_arrived, leaving), self._redis.deadline())


def _arrived(sent: Sequence[Waiting], replies: list[Any] | StoreUnavailable) -> None:
    outcomes = repeat(replies) if isinstance(replies, StoreUnavailable) else iter(replies)
    for commands, future in sent:
        own = list(islice(outcomes, len(commands)))
        # The caller may have been cancelled.
        if not future.done():
            future.set_result(own)

"""fakeredis as a store's Redis: it is fast, and other tiers use real servers."""

import asyncio
from collections.abc import Sequence

from fakeredis import FakeAsyncRedis
from hiredis import Reader
from redis.exceptions import ResponseError

from footfall.driver.client import RedisClient
from footfall.driver.commands import Command
from footfall.driver.connection import Done
from footfall.driver.data_set_id import DataSetIds
from footfall.driver.replies import answering, of_client
from footfall.driver.stats import CommandStats
from footfall.errors import StoreUnavailable
from footfall.telemetry.metrics import Metrics


def fake_redis() -> RedisClient:
    fake = FakeAsyncRedis()
    sender = Pipelined(fake)
    stats = CommandStats(Metrics(), slow_seconds=5)
    return RedisClient(sender, sender, sender, fake, 5, stats, DataSetIds(stats))


class Pipelined:
    """A CommandSender that uses redis-py's pipelines, which fakeredis implements."""

    def __init__(self, client: FakeAsyncRedis) -> None:
        self._client = client
        self._sending: set[asyncio.Task[None]] = set()

    def ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None:
        task = asyncio.get_running_loop().create_task(self._ask(commands, done, deadline))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None:
        pipeline = self._client.pipeline(transaction=False)
        # Replies stay as they are; redis-py would convert them.
        pipeline.response_callbacks = {}
        reader = Reader()
        for command in commands:
            reader.feed(command)
            name, *words = reader.gets()
            pipeline.execute_command(name.decode(), *words)
        try:
            async with answering(deadline):
                replies = await pipeline.execute(raise_on_error=False)
        except StoreUnavailable as error:
            done(error)
        else:
            done([_as_sent(reply) for reply in replies])

    async def close(self) -> None:
        await asyncio.gather(*self._sending)


def _as_sent(reply: object) -> object:
    """A reply as Redis would send it: fakeredis has exceptions and dictionaries."""
    if isinstance(reply, ResponseError):
        return of_client(reply)
    return [list(pair) for pair in reply.items()] if isinstance(reply, dict) else reply

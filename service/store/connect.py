"""From a URL to Redis, and from Redis's errors to ours.

Questions go through a `Door`. On a single server that is a Wire, one connection for everything; on
a Cluster it is redis-py, which knows which node has which slot. Neither sends a command twice:
redis-py's default is to do so after a lost reply, and an increment that the server has already run
would count twice.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from hiredis import Reader
from redis.asyncio import Redis, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    ClusterError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from ..errors import StoreUnavailable
from .address import read
from .wire import Command, Done, Wire, pack

Client = Any  # Redis | RedisCluster: redis-py types their commands too differently to share a name.

UNAVAILABLE = (
    RedisConnectionError, RedisTimeoutError, TimeoutError, OSError, ReadOnlyError, OutOfMemoryError,
    ClusterError,
)  # fmt: skip
# Beginnings of error replies of a server that is there but cannot serve now.
NOT_NOW = (
    "MISCONF", "NOREPLICAS", "LOADING", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "READONLY", "OOM",
    "NOAUTH", "NOPERM",
)  # fmt: skip


T = TypeVar("T")


class Door(Protocol):
    """Sends commands in one round trip and calls `done` once, by the deadline; see wire.py."""

    def ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None: ...

    async def close(self) -> None: ...


class Pipelined:
    """A door through redis-py's pipelines: for a Cluster, and for fakeredis in tests."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._asking: set[asyncio.Task[None]] = set()

    def ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None:
        task = asyncio.get_running_loop().create_task(self._ask(commands, done, deadline))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None:
        pipeline = self._client.pipeline(transaction=False)
        reader = Reader()
        for command in commands:
            # redis-py packs them once more, and chooses the node by what they say.
            reader.feed(command)
            name, *words = reader.gets()
            pipeline.execute_command(name.decode(), *words)
        try:
            async with answering(deadline):
                replies = await pipeline.execute(raise_on_error=False)
        except StoreUnavailable as error:
            done(error)
        else:
            done(replies)

    async def close(self) -> None:
        await asyncio.gather(*self._asking)


@dataclass(frozen=True, slots=True)
class Connected:
    """The two ways to Redis: `door` for requests, `client` for what may take its time."""

    door: Door
    client: Client
    timeout: float

    @property
    def is_cluster(self) -> bool:
        return isinstance(self.client, RedisCluster)

    def deadline(self) -> float:
        """By when a question that is asked now must be answered, by the event loop's clock."""
        return asyncio.get_running_loop().time() + self.timeout

    async def ask(self, *commands: Sequence[object]) -> list[Any]:
        """A reply a command of such words, all in one round trip; raises for an error reply."""
        return await self.send(*(pack(*command) for command in commands))

    async def send(self, *commands: Command) -> list[Any]:
        """The same for commands as they go over the wire."""
        future: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self.door.ask(commands, deliver(future), self.deadline())
        replies = await future
        for reply in replies:
            if isinstance(reply, Exception):
                raise failure(reply)
        return replies

    async def close(self) -> None:
        await self.door.close()
        await self.client.aclose()


def connect(url: str, timeout: float) -> Connected:
    """For the URLs of address.py; `?cluster=true` asks for a Redis Cluster.

    `timeout` is in seconds, for connecting and for each question. Nothing is sent yet. Raises
    ValueError for a URL that cannot be used.
    """
    address = read(url)
    base, _, query = url.partition("?")
    given = [each for each in query.split("&") if each]
    kept = [each for each in given if not each.startswith("cluster=")]
    url = f"{base}?{'&'.join(kept)}" if kept else base
    options: dict[str, Any] = {
        "retry": Retry(NoBackoff(), 0),
        # The reply of every command we use is the same in both protocols, and the older one is
        # parsed faster.
        "protocol": 2,
        # Or it would tell its name, which a user with few rights may not.
        "driver_info": None,
    }
    if address.is_cluster:
        cluster = RedisCluster.from_url(
            url, **options, socket_timeout=timeout, socket_connect_timeout=timeout
        )
        return Connected(Pipelined(cluster), cluster, timeout)
    pool = address.pool(timeout, **options)
    return Connected(Wire(pool.make_connection, timeout), Redis.from_pool(pool), timeout)


@asynccontextmanager
async def answering(deadline: float | None) -> AsyncIterator[None]:
    """Turns "away, too slow, full or read-only" into StoreUnavailable; a bug stays what it is."""
    try:
        async with asyncio.timeout_at(deadline):
            yield
    except (*UNAVAILABLE, ResponseError) as error:
        raise failure(error) from error


def failure(error: Exception) -> Exception:
    """StoreUnavailable for an error of a server that cannot serve now, else the error itself."""
    if not isinstance(error, UNAVAILABLE) and not str(error).startswith(NOT_NOW):
        return error
    unavailable = StoreUnavailable()
    unavailable.__cause__ = error
    return unavailable


def is_unknown_script(reply: object) -> bool:
    """Has Redis forgotten the script? Then it has not run it."""
    return isinstance(reply, NoScriptError) or (
        isinstance(reply, Exception) and str(reply).startswith("NOSCRIPT")
    )


def deliver(future: "asyncio.Future[T]") -> Callable[[T | Exception], None]:
    """What fulfils a future with an answer, unless whoever waited for it has gone."""

    def done(answer: T | Exception) -> None:
        if future.done():
            return
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)

    return done

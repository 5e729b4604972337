"""From a URL to Redis clients, and from Redis's errors to ours.

There are two clients because redis-py's default is to send a command again after a lost reply, and
an increment that the server has already run would count twice. The writer never retries; the reader
retries once when a connection turns out to be broken, never after a time-out.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    ClusterError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from ..errors import StoreUnavailable

Client = Any  # Redis | RedisCluster: redis-py types their commands too differently to share a name.

MAX_CONNECTIONS = 32
UNAVAILABLE = (
    RedisConnectionError, RedisTimeoutError, TimeoutError, OSError, ReadOnlyError, OutOfMemoryError,
    ClusterError,
)  # fmt: skip
# Beginnings of error replies of a server that is there but cannot serve now.
NOT_NOW = ("MISCONF", "NOREPLICAS", "LOADING", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN")


@dataclass(frozen=True, slots=True)
class Clients:
    writer: Client
    reader: Client
    timeout: float = 5.0

    @property
    def is_cluster(self) -> bool:
        return isinstance(self.writer, RedisCluster)

    @asynccontextmanager
    async def answering(self, *, patiently: bool = False) -> AsyncIterator[None]:
        """The door to Redis: everything that is asked of it is asked inside.

        Turns "away, too slow, full or read-only" into StoreUnavailable; a bug stays what it is. The
        time-out is for the whole question, since opening a connection and asking each have theirs;
        `patiently` leaves it out.
        """
        try:
            async with asyncio.timeout(None if patiently else self.timeout):
                yield
        except UNAVAILABLE as error:
            raise StoreUnavailable() from error
        except ResponseError as error:
            if str(error).startswith(NOT_NOW):
                raise StoreUnavailable() from error
            raise

    async def close(self) -> None:
        await self.writer.aclose()
        if self.reader is not self.writer:
            await self.reader.aclose()


def connect(url: str, timeout: float) -> Clients:
    """Clients for redis://, rediss:// and unix:// URLs; `?cluster=true` asks for a Redis Cluster.

    `timeout` is in seconds, for connecting and for each answer. Nothing is sent yet.
    """
    base, _, query = url.partition("?")
    parameters = [each for each in query.split("&") if each and not each.startswith("cluster=")]
    is_cluster = len(parameters) != len([each for each in query.split("&") if each])
    url = "?".join([base, "&".join(parameters)]) if parameters else base
    make = _cluster if is_cluster else _single
    never = Retry(NoBackoff(), 0)
    once = Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,))
    return Clients(make(url, timeout, never), make(url, timeout, once), timeout)


def _single(url: str, timeout: float, retry: Retry) -> Client:
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=MAX_CONNECTIONS,
        timeout=timeout,
        socket_timeout=timeout,
        socket_connect_timeout=timeout,
        retry=retry,
        # The reply of every command we use is the same in both protocols, and the older one is
        # parsed faster; it also keeps redis-py from skipping its check of idle connections.
        protocol=2,
    )
    return Redis.from_pool(pool)


def _cluster(url: str, timeout: float, retry: Retry) -> Client:
    return RedisCluster.from_url(
        url,
        socket_timeout=timeout,
        socket_connect_timeout=timeout,
        retry=retry,
        protocol=2,
    )

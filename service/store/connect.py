"""From a URL to Redis, and from Redis's errors to ours.

Questions go through a `Door`: a wire to a single server, or one to each node of a Cluster. Neither
sends a command twice: redis-py's default is to do so after a lost reply, and an increment that the
server has already run would count twice.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

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
from ..meters import Meters
from ..model import MEMORY, Durability
from .address import read
from .cluster import Cluster, Connect
from .confirm import Confirmed, Wait, wait_for
from .notes import Notes
from .wire import Command, Door, Wire, pack

Client = Any  # Redis | RedisCluster: redis-py types their commands too differently to share a name.

UNAVAILABLE = (
    RedisConnectionError, RedisTimeoutError, TimeoutError, OSError, ReadOnlyError, OutOfMemoryError,
    ClusterError,
)  # fmt: skip
# Beginnings of error replies of a server that is there but cannot serve now.
NOT_NOW = (
    "MISCONF", "NOREPLICAS", "LOADING", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK ", "MASTERDOWN",
    "READONLY", "OOM", "NOAUTH", "NOPERM",
)  # fmt: skip

# Keys that are looked at in one step of a SCAN: some tenths of a millisecond.
SCANNED = 1000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Connected:
    """The ways to Redis: a door for questions, one for changes, a client for what takes its time.

    Both doors are the same one unless changes have to be waited for (confirm.py).
    """

    door: Door
    changes: Door
    client: Client
    timeout: float
    notes: Notes
    wait: Wait | None = None

    @property
    def is_cluster(self) -> bool:
        return isinstance(self.client, RedisCluster)

    def deadline(self) -> float:
        """By when a question that is asked now must be answered, by the event loop's clock."""
        return asyncio.get_running_loop().time() + self.timeout

    async def ask(self, *commands: Sequence[object]) -> list[Any]:
        """A reply a command of such words, all in one round trip; raises for an error reply."""
        return await self._through(self.door, [pack(*command) for command in commands])

    async def change(self, *commands: Sequence[object]) -> list[Any]:
        """The same for commands that change something."""
        return await self._through(self.changes, [pack(*command) for command in commands])

    async def send(self, command: Command, *, is_change: bool) -> Any:
        """The reply to a command as it goes over the wire."""
        (reply,) = await self._through(self.changes if is_change else self.door, [command])
        return reply

    async def _through(self, door: Door, commands: Sequence[Command]) -> list[Any]:
        future: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        door.ask(commands, deliver(future), self.deadline())
        replies = await future
        for reply in replies:
            if isinstance(reply, Exception):
                raise failure(reply)
        return replies

    async def every_server(self, *commands: Sequence[object]) -> list[list[Any]]:
        """Ask each server that takes changes: one, or on a Cluster all masters."""
        packed = [pack(*command) for command in commands]
        doors = await self._masters()
        return await asyncio.gather(*(self._through(door, packed) for door in doors))

    async def scan(self, pattern: str, type: str = "") -> AsyncIterator[list[bytes]]:
        """Every key of these names, or of one type alone, some at a time; one may come twice."""
        only = ("TYPE", type) if type else ()
        for door in await self._masters():
            cursor = b"0"
            while True:
                question = pack("SCAN", cursor, "MATCH", pattern, "COUNT", SCANNED, *only)
                ((cursor, keys),) = await self._through(door, [question])
                yield keys
                if cursor == b"0":
                    break

    async def _masters(self) -> list[Door]:
        return await self.door.masters() if isinstance(self.door, Cluster) else [self.door]

    async def close(self) -> None:
        await self.door.close()
        if self.changes is not self.door:
            await self.changes.close()
        await self.client.aclose()


Around = Callable[[Door, Notes], Door]


def bare(door: Door, notes: Notes) -> Door:
    """With nothing around it."""
    return door


def connect(
    url: str,
    timeout: float,
    durability: Durability = MEMORY,
    *,
    asks_replicas: bool = False,
    notes: Notes | None = None,
    around: Around = bare,
) -> Connected:
    """For the URLs of address.py; `?cluster=true` asks for a Redis Cluster.

    `timeout` is in seconds, for connecting and for each question. `around` makes of the door to a
    server the one that is asked. Nothing is sent yet. Raises ValueError for a URL that cannot be
    used.
    """
    address = read(url)
    options: dict[str, Any] = {
        "retry": Retry(NoBackoff(), 0),
        # The reply of every command we use is the same in both protocols, and the older one is
        # parsed faster.
        "protocol": 2,
        # Or it would tell its name, which a user with few rights may not.
        "driver_info": None,
    }
    wait = wait_for(durability, timeout)

    notes = notes or Notes(Meters(), slow_seconds=timeout)

    def wire(connection: Connect) -> Door:
        return around(Wire(connection, timeout, notes), notes)

    def change(connection: Connect) -> Door:
        if wait is None:
            return wire(connection)
        return around(Confirmed(Wire(connection, timeout, notes), wait, timeout), notes)

    if address.is_cluster:
        cluster = address.cluster(timeout, **options)
        questions: Door = Cluster(cluster, wire, asks_replicas=asks_replicas)
        changes = Cluster(cluster, change) if wait or asks_replicas else questions
        return Connected(questions, changes, cluster, timeout, notes, wait)
    pool = address.pool(timeout, **options)
    questions = wire(pool.make_connection)
    changes = change(pool.make_connection) if wait else questions
    return Connected(questions, changes, Redis.from_pool(pool), timeout, notes, wait)


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

"""From a URL to Redis.

Questions go through a `CommandSender`: a wire to a single server, or one to each node of a Cluster.
Neither sends a command twice: redis-py's default is to do so after a lost reply, and an increment
that the server has already run would count twice.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from ..model import MEMORY, Durability
from ..telemetry.metrics import Metrics
from .cluster import Cluster, Connect
from .connection import Command, CommandSender, Connection, pack
from .durability import DurableSender, Wait, wait_for
from .mark import Mark
from .replies import failure
from .stats import CommandStats
from .url import parse_redis_url

Client = Any  # Redis | RedisCluster: redis-py types their commands too differently to share a name.

# Keys that are looked at in one step of a SCAN: some tenths of a millisecond.
SCAN_COUNT_KEYS = 1000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Connected:
    """The ways to Redis: three senders, and a client for what takes its time.

    `sender` is for questions. `changes` is for what is acknowledged, and waits until that is safe
    (durability.py). `prompt` is for changes that nobody is promised. They are one and the same
    unless changes have to be waited for, or questions are asked of replicas.
    """

    sender: CommandSender
    prompt: CommandSender
    changes: CommandSender
    client: Client
    timeout: float
    stats: CommandStats
    mark: Mark
    wait: Wait | None = None

    @property
    def is_cluster(self) -> bool:
        return isinstance(self.client, RedisCluster)

    def deadline(self) -> float:
        """By when a question that is asked now must be answered, by the event loop's clock."""
        return asyncio.get_running_loop().time() + self.timeout

    async def ask(self, *commands: Sequence[object]) -> list[Any]:
        """A reply a command of such words, all in one round trip.

        Raises StoreUnavailable; ErrorReply for any other error reply.
        """
        return await self._through(self.sender, commands)

    async def ask_masters(self, *commands: Sequence[object]) -> list[Any]:
        """The same where a change is decided by the answer: a replica may not know yet what is."""
        return await self._through(self.prompt, commands)

    async def change(self, *commands: Sequence[object]) -> list[Any]:
        """The same for commands that change something."""
        return await self._through(self.changes, commands)

    async def send(self, command: Command, sender: CommandSender) -> Any:
        """The reply to a command as it goes over the wire, through one of the senders."""
        self.mark.check()
        (reply,) = _sound(await self._replies(sender, [command]))
        return reply

    async def _through(
        self, sender: CommandSender, commands: Sequence[Sequence[object]]
    ) -> list[Any]:
        self.mark.check()
        return _sound(await self._replies(sender, [pack(*command) for command in commands]))

    async def _replies(self, sender: CommandSender, commands: Sequence[Command]) -> list[Any]:
        future: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        sender.ask(commands, fulfil(future), self.deadline())
        return await future

    async def look_at_mark(self) -> None:
        """Is our data set there? `mark` knows it then. Raises StoreUnavailable."""
        if self.mark.is_known:
            (reply,) = await self._replies(self.prompt, [self.mark.question])
            self.mark.heard(reply)

    async def every_server(
        self, *commands: Sequence[object], may_refuse: bool = False
    ) -> list[list[Any]]:
        """Ask each server that takes changes: one, or on a Cluster all masters.

        Whatever data set they hold. With `may_refuse`, error replies are among the others.
        """
        packed = [pack(*command) for command in commands]
        senders = await self._masters()
        found = await asyncio.gather(*(self._replies(sender, packed) for sender in senders))
        return found if may_refuse else [_sound(replies) for replies in found]

    async def scan(self, pattern: str, type: str = "") -> AsyncIterator[list[bytes]]:
        """Every key of these names, or of one type alone, some at a time; one may come twice."""
        only = ("TYPE", type) if type else ()
        for sender in await self._masters():
            cursor = b"0"
            while True:
                question = ("SCAN", cursor, "MATCH", pattern, "COUNT", SCAN_COUNT_KEYS, *only)
                ((cursor, keys),) = await self._through(sender, [question])
                yield keys
                if cursor == b"0":
                    break

    async def _masters(self) -> list[CommandSender]:
        return await self.prompt.masters() if isinstance(self.prompt, Cluster) else [self.prompt]

    async def close(self) -> None:
        for sender in {self.sender, self.prompt, self.changes}:
            await sender.close()
        await self.client.aclose()


def _sound(replies: list[Any]) -> list[Any]:
    for reply in replies:
        # On a Cluster a node that is away is told of in the places of its replies.
        if isinstance(reply, Exception):
            raise failure(reply)
    return replies


Around = Callable[[CommandSender, CommandStats], CommandSender]


def bare(sender: CommandSender, stats: CommandStats) -> CommandSender:
    """With nothing around it."""
    return sender


@dataclass(frozen=True, slots=True)
class _Senders:
    """Makes senders to one server each, by what opens a connection, and by its name in the log."""

    timeout: float
    stats: CommandStats
    mark: Mark
    wait: Wait | None
    around: Around

    def prompt(self, connection: Connect, name: str = "Redis") -> CommandSender:
        return self.around(self._wire(connection, name, self.mark), self.stats)

    def changes(self, connection: Connect, name: str = "Redis") -> CommandSender:
        wire = self._wire(connection, name, self.mark)
        if self.wait is None:
            return self.around(wire, self.stats)
        trouble = self.stats.outage(f"{name} does not confirm changes", f"{name} confirms again")
        return self.around(DurableSender(wire, self.wait, self.timeout, trouble), self.stats)

    def replica(self, connection: Connect, name: str) -> CommandSender:
        # What its master holds has been looked at, and it may be a step behind.
        return self.around(self._wire(connection, name, Mark(self.stats)), self.stats)

    def _wire(self, connection: Connect, name: str, greeting: Mark) -> Connection:
        trouble = self.stats.outage(f"{name} does not answer", f"{name} answers again")
        return Connection(connection, self.timeout, self.stats, trouble, greeting)


def connect(
    url: str,
    timeout: float,
    durability: Durability = MEMORY,
    *,
    asks_replicas: bool = False,
    stats: CommandStats | None = None,
    around: Around = bare,
) -> Connected:
    """For the URLs of url.py; `?cluster=true` asks for a Redis Cluster.

    `timeout` is in seconds, for connecting and for each question. `around` makes of the sender to a
    server the one that is asked. Nothing is sent yet. Raises ValueError for a URL that cannot be
    used.
    """
    address = parse_redis_url(url)
    options: dict[str, Any] = {
        "retry": Retry(NoBackoff(), 0),
        # The reply of every command we use is the same in both protocols, and the older one is
        # parsed faster.
        "protocol": 2,
        # Or it would tell its name, which a user with few rights may not.
        "driver_info": None,
    }
    stats = stats or CommandStats(Metrics(), slow_seconds=timeout)
    wait = wait_for(durability, timeout)
    make = _Senders(timeout, stats, Mark(stats), wait, around)
    if address.is_cluster:
        cluster = address.cluster(timeout, **options)
        prompt: CommandSender = Cluster(cluster, make.prompt)
        changes: CommandSender = Cluster(cluster, make.changes) if wait else prompt
        sender = Cluster(cluster, make.replica, asks_replicas=True) if asks_replicas else prompt
        return Connected(sender, prompt, changes, cluster, timeout, stats, make.mark, wait)
    pool = address.pool(timeout, **options)
    prompt = make.prompt(pool.make_connection)
    changes = make.changes(pool.make_connection) if wait else prompt
    client = Redis.from_pool(pool)
    return Connected(prompt, prompt, changes, client, timeout, stats, make.mark, wait)


def fulfil(future: "asyncio.Future[T]") -> Callable[[T | Exception], None]:
    """What fulfils a future with an answer, unless whoever waited for it has gone."""

    def done(answer: T | Exception) -> None:
        if future.done():
            return
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)

    return done

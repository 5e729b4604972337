"""The client: from a REDIS_URL to objects that send commands to Redis.

Commands go through a `CommandSender`: one connection to a single server, or one to each node of a
Cluster. Neither sends a command twice. redis-py does that by default after a lost reply, and an
increment that the server has run already would count twice.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from ..callbacks import fulfil
from ..errors import StoreUnavailable
from ..model import MEMORY, Durability
from ..telemetry.metrics import Metrics
from .cluster import Cluster, Connect
from .commands import Command, pack
from .connection import CommandSender, Connection
from .credentials import Credentials, Provider, Source
from .data_set_id import DataSetIds
from .durability import DurableSender, Wait, wait_for
from .replies import REJECTED, ErrorReply, failure, unavailable
from .server_state import SINGLE
from .stats import CommandStats

Client = Any  # Redis | RedisCluster: redis-py types their commands too differently to share a name.

# The COUNT of a SCAN: a step of it takes some tenths of a millisecond.
SCAN_COUNT_KEYS = 1000


@dataclass(frozen=True, slots=True)
class RedisClient:
    """Three senders to one Redis, and redis-py's client.

    `sender` is for reads. `changes` is for writes that are acknowledged to clients: its replies
    wait until they are durable (durability.py). `prompt` is for writes that need not be durable.
    They are the same object unless changes wait, or reads go to replicas. `timeout` is in seconds.
    """

    sender: CommandSender
    prompt: CommandSender
    changes: CommandSender
    client: Client
    timeout: float
    stats: CommandStats
    data_set_ids: DataSetIds
    wait: Wait | None = None

    @property
    def is_cluster(self) -> bool:
        return isinstance(self.client, RedisCluster)

    def deadline(self) -> float:
        """The deadline for a reply to a command that is sent now, by the event loop's clock."""
        return asyncio.get_running_loop().time() + self.timeout

    async def ask(self, *commands: Sequence[object]) -> list[Any]:
        """Send commands that only read, in one round trip; returns a reply for each.

        A command is a tuple of its words. Raises StoreUnavailable, and ErrorReply for any other
        error reply.
        """
        return await self._through(self.sender, commands)

    async def ask_each(self, *commands: Sequence[object], of_masters: bool = False) -> list[Any]:
        """The replies as of ask or ask_masters, with None in place of an error reply: then one
        damaged key hides only its own value. Raises StoreUnavailable."""
        self.data_set_ids.check()
        sender = self.prompt if of_masters else self.sender
        replies = await self._replies(sender, [pack(*command) for command in commands])
        return list(map(_readable, replies))

    async def ask_masters(self, *commands: Sequence[object]) -> list[Any]:
        """The replies of masters, as a replica's data may be older: for reads that decide a
        change."""
        return await self._through(self.prompt, commands)

    def require_changes(self) -> None:
        """Raises StoreUnavailable while the server rejects all changes, for all but one a second.
        A Cluster's nodes are asked each time."""
        if not self.is_cluster and self.stats.server(SINGLE).keeps_back():
            raise unavailable(REJECTED)

    async def change(self, *commands: Sequence[object]) -> list[Any]:
        """The replies to commands that write; they are durable when this returns."""
        self.require_changes()
        return await self._through(self.changes, commands)

    async def send(
        self, command: Command, sender: CommandSender, *, behind: Command | None = None
    ) -> Any:
        """The reply to a packed command, through one of the senders; `behind` another one, which is
        sent in the same write."""
        self.data_set_ids.check()
        commands = [command] if behind is None else [behind, command]
        return _sound(await self._replies(sender, commands))[-1]

    async def _through(
        self, sender: CommandSender, commands: Sequence[Sequence[object]]
    ) -> list[Any]:
        self.data_set_ids.check()
        return _sound(await self._replies(sender, [pack(*command) for command in commands]))

    async def _replies(
        self, sender: CommandSender, commands: Sequence[Command], deadline: float | None = None
    ) -> list[Any]:
        if not commands:
            # No node of a Cluster would answer.
            return []
        future: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        sender.ask(commands, fulfil(future), deadline or self.deadline())
        return await future

    async def check_data_set_ids(self) -> None:
        """Read the ids of the data sets: `data_set_ids` then knows if they are ours.

        Raises StoreUnavailable.
        """
        if not self.data_set_ids.are_known:
            return
        commands = self.data_set_ids.commands
        replies = await self._replies(self.prompt, commands)
        for reply in replies:
            if isinstance(reply, StoreUnavailable):
                # On a Cluster it stands in the place of the reply.
                raise reply
        self.data_set_ids.received(commands, replies)

    async def every_server(
        self, *commands: Sequence[object], may_refuse: bool = False
    ) -> dict[str, list[Any]]:
        """Send commands to each server that accepts writes: one, or all masters of a Cluster.

        Returns the replies of those that answer, by the servers' names in logs; raises
        StoreUnavailable if none does. It ignores which data set they hold. With `may_refuse`, error
        replies are returned among the others and not raised.
        """
        packed = [pack(*command) for command in commands]
        asked = {name: (sender, packed) for name, sender in (await self.masters()).items()}
        replies = await self.each(asked, self.deadline())
        answers = {name: reply for name, reply in replies.items() if isinstance(reply, list)}
        if not answers:
            failures = (reply for reply in replies.values() if isinstance(reply, Exception))
            raise next(failures, StoreUnavailable())
        return answers if may_refuse else {name: _sound(reply) for name, reply in answers.items()}

    async def each(
        self, asked: Mapping[str, tuple[CommandSender, Sequence[Command]]], deadline: float
    ) -> dict[str, list[Any] | StoreUnavailable]:
        """The replies of several servers, by name, to packed commands; or that one does not answer.

        It ignores which data set they hold.
        """

        async def answer(sender: CommandSender, commands: Sequence[Command]) -> Any:
            try:
                return await self._replies(sender, commands, deadline)
            except StoreUnavailable as error:
                return error

        answers = await asyncio.gather(*(answer(*each) for each in asked.values()))
        return dict(zip(asked, answers, strict=True))

    async def scan(self, pattern: str, type: str = "") -> AsyncIterator[list[bytes]]:
        """All keys that match, in lists; one may come twice. `type` is SCAN's TYPE."""
        only = ("TYPE", type) if type else ()
        for sender in (await self.masters()).values():
            cursor = b"0"
            while True:
                command = ("SCAN", cursor, "MATCH", pattern, "COUNT", SCAN_COUNT_KEYS, *only)
                ((cursor, keys),) = await self._through(sender, [command])
                yield keys
                if cursor == b"0":
                    break

    async def masters(
        self, *, anew: bool = True, durably: bool = False
    ) -> Mapping[str, CommandSender]:
        """A sender to each server that accepts writes, by its name in logs; replies wait until the
        changes are durable, if `durably`. See Cluster.masters for `anew`."""
        sender = self.changes if durably else self.prompt
        return await sender.masters(anew=anew) if isinstance(sender, Cluster) else {SINGLE: sender}

    def names(self) -> list[str]:
        """The names of these servers, as far as they are known."""
        return self.prompt.names() if isinstance(self.prompt, Cluster) else [SINGLE]

    async def close(self) -> None:
        for sender in {self.sender, self.prompt, self.changes}:
            await sender.close()
        await self.client.aclose()


def _sound(replies: list[Any]) -> list[Any]:
    for reply in replies:
        # If a node of a Cluster is unreachable, StoreUnavailable stands in the places of its
        # replies.
        if isinstance(reply, Exception):
            raise failure(reply)
    return replies


def _readable(reply: Any) -> Any:
    if not isinstance(reply, Exception):
        return reply
    error = failure(reply)
    if isinstance(error, ErrorReply):
        return None
    raise error


@dataclass(frozen=True, slots=True)
class _Senders:
    """Makes senders to single servers, each by what opens a connection and by its name in logs."""

    timeout: float
    stats: CommandStats
    data_set_ids: DataSetIds
    wait: Wait | None

    def prompt(self, opener: Connect, name: str = SINGLE) -> CommandSender:
        return self._connection(opener, name, self.data_set_ids)

    def changes(self, opener: Connect, name: str = SINGLE) -> CommandSender:
        connection = self._connection(opener, name, self.data_set_ids)
        if self.wait is None:
            return connection
        state = self.stats.server(name)
        return DurableSender(connection, self.wait, self.timeout, state)

    def replica(self, opener: Connect, name: str) -> CommandSender:
        # A replica's ids are not checked: they may be older, and its master's are checked.
        return self._connection(opener, name, DataSetIds(self.stats))

    def _connection(self, opener: Connect, name: str, greeting: DataSetIds) -> Connection:
        return Connection(opener, self.timeout, self.stats, self.stats.server(name), greeting)


def connect(
    source: str | Source,
    timeout: float,
    durability: Durability = MEMORY,
    *,
    asks_replicas: bool = False,
    stats: CommandStats | None = None,
) -> RedisClient:
    """Senders for a REDIS_URL (url.py); with `?cluster=true` it is a Redis Cluster.

    `source` is the URL, or a function that returns it with the current credentials
    (credentials.py). `timeout` is in seconds, for connecting and for each command. Nothing is sent
    yet. Raises ValueError for an unusable URL.
    """
    credentials = Credentials((lambda _: (source, "")) if isinstance(source, str) else source)
    address = credentials.address
    options: dict[str, Any] = {
        "retry": Retry(NoBackoff(), 0),
        # RESP2 is parsed faster than RESP3, and our commands have the same replies in both.
        "protocol": 2,
        # Without this redis-py sends CLIENT SETINFO, which needs a permission.
        "driver_info": None,
        "credential_provider": Provider(credentials.redis),
    }
    stats = stats or CommandStats(Metrics(), slow_seconds=timeout)
    wait = wait_for(durability, timeout)
    make = _Senders(timeout, stats, DataSetIds(stats), wait)
    if address.is_cluster:
        cluster = address.cluster(timeout, **options)
        prompt: CommandSender = Cluster(cluster, make.prompt)
        changes: CommandSender = Cluster(cluster, make.changes) if wait else prompt
        sender = Cluster(cluster, make.replica, asks_replicas=True) if asks_replicas else prompt
        return RedisClient(
            sender, prompt, changes, cluster, timeout, stats, make.data_set_ids, wait
        )
    pool = address.pool(timeout, Provider(credentials.sentinels), **options)
    prompt = make.prompt(pool.make_connection)
    changes = make.changes(pool.make_connection) if wait else prompt
    client = Redis.from_pool(pool)
    return RedisClient(prompt, prompt, changes, client, timeout, stats, make.data_set_ids, wait)

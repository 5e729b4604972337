"""A Redis Cluster as one sender: each command goes to the node that has its key's slot.

redis-py finds the nodes and opens connections; there is one `Connection` for each node, as for a
single server. A node that answers MOVED or ASK has not run the command, so it is sent on to the
right node. Otherwise no command is sent twice, except a read that a replica does not answer within
a share of its time: it is sent to the master. That replica then gets no more reads for a while,
except occasional trials.
"""

import asyncio
import logging
from binascii import crc_hqx
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from redis.asyncio import RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import AbstractConnection
from redis.cluster import PRIMARY, REPLICA

from ..errors import StoreUnavailable
from .cluster_map import read_map
from .commands import Command, pack
from .connection import CommandSender, Done
from .replies import ErrorReply, deliver, unavailable

log = logging.getLogger(__name__)

SLOTS = 16384
# How often a command is redirected before its error is returned.
MAX_REDIRECTIONS = 5
# The wait after TRYAGAIN: while a slot moves, a script's keys may be on two nodes.
TRY_AGAIN_SECONDS = 0.02
# The least time between two reads of the map of slots.
MIN_MAP_SECONDS = 0.2
# The share of a read's time that a replica has to answer; its master has the rest.
REPLICA_SHARE = 0.25
# How long a replica that did not answer is avoided.
AVOID_SECONDS = 1.0

ASKING = pack("ASKING")
# Codes of replies that redirect or postpone a command.
REDIRECTIONS = frozenset({"MOVED", "ASK", "TRYAGAIN"})

Connect = Callable[[], AbstractConnection]


class _Pending:
    """Commands that were sent together, and the replies that have come, in their order."""

    def __init__(self, commands: Sequence[Command], done: Done, deadline: float) -> None:
        self.commands = commands
        self.done = done
        self.deadline = deadline
        self.replies: list[Any] = [None] * len(commands)
        self.missing = len(commands)
        self.redirections = 0

    def received(self, place: int, reply: Any) -> None:
        self.replies[place] = reply
        self.missing -= 1
        if not self.missing:
            deliver(self.done, self.replies)


class Cluster:
    """A CommandSender. `sender_to` makes the sender to one node, by its name in logs.

    With `asks_replicas` it is for reads only.
    """

    def __init__(
        self,
        client: RedisCluster,
        sender_to: Callable[[Connect, str], CommandSender],
        *,
        asks_replicas: bool = False,
    ) -> None:
        self._nodes = client.nodes_manager
        self._is_lost = False
        self._sender_to = sender_to
        self._asks_replicas = asks_replicas
        self._senders: dict[str, CommandSender] = {}
        # Slots that have moved since the map was read -> their nodes.
        self._moved: dict[int, str] = {}
        # Replicas that did not answer -> when the next read may try them.
        self._avoided: dict[str, float] = {}
        self._learning: asyncio.Task[None] | None = None
        self._learnt_at = float("-inf")

    def ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None:
        pending = _Pending(commands, done, deadline)
        places = range(len(commands))
        if self._nodes.slots_cache:
            self._route(pending, places)
            return

        def learnt(learning: "asyncio.Task[None]") -> None:
            if self._nodes.slots_cache:
                self._route(pending, places)
                return
            failure = StoreUnavailable()
            failure.__cause__ = learning.exception()
            deliver(done, failure)

        self._learn().add_done_callback(learnt)

    def ask_node(self, node: str, commands: Sequence[Command], done: Done, deadline: float) -> None:
        """Send commands that are all for one node, as `node_of` has named it."""
        if node:
            self._send(_Pending(commands, done, deadline), range(len(commands)), node)
        else:
            self.ask(commands, done, deadline)

    def node_of(self, slot: int) -> str:
        """The name of the node for this slot, "" while the map of slots is not known."""
        if self._asks_replicas and (replicas := self._nodes.slots_cache.get(slot, [])[1:]):
            # Always the same replica, so that a later read never sees older data.
            name = str(replicas[slot % len(replicas)].name)
            if not self._avoided or self._may_be_asked(name):
                return name
        return self._master_of(slot)

    async def masters(self, *, anew: bool = True) -> dict[str, CommandSender]:
        """A sender to each node that accepts writes, by its name in logs.

        The map of slots is read first; unless `anew`, only if it is unknown. Raises
        StoreUnavailable.
        """
        if anew or not self._nodes.slots_cache:
            try:
                await asyncio.shield(self._learn())
            except Exception as error:
                raise StoreUnavailable() from error
        return {_in_logs(name): self._sender(name) for name in self._names()}

    def names(self) -> list[str]:
        """The names of these nodes in logs, by the last map of slots."""
        return [*map(_in_logs, self._names())]

    def _names(self) -> Iterable[str]:
        return (node.name for node in self._nodes.get_nodes_by_server_type(PRIMARY))

    def has(self, name: str, slot: int) -> bool:
        """Does the node with this name in logs take the writes of a slot?"""
        return _in_logs(self._master_of(slot)) == name

    async def close(self) -> None:
        """Close for good, and stop reading the map of slots."""
        self._learnt_at = float("inf")
        if self._learning:
            await asyncio.wait((self._learning,))
        await asyncio.gather(*(sender.close() for sender in self._senders.values()))
        # redis-py's connections, by which the map was read.
        await self._nodes.aclose()
        await self._nodes.aclose("startup_nodes")

    def _master_of(self, slot: int) -> str:
        nodes = self._nodes.slots_cache.get(slot)
        return (self._moved.get(slot) or str(nodes[0].name)) if nodes else ""

    def _may_be_asked(self, replica: str) -> bool:
        now = asyncio.get_running_loop().time()
        if self._avoided.get(replica, now) > now:
            return False
        if replica in self._avoided:
            # This read tries the replica; others avoid it until the result is known.
            self._avoided[replica] = now + AVOID_SECONDS
        return True

    def _route(self, pending: _Pending, places: Iterable[int], *, to_masters: bool = False) -> None:
        node_of = self._master_of if to_masters else self.node_of
        by_node: defaultdict[str, list[int]] = defaultdict(list)
        for place in places:
            slot = slot_of(pending.commands[place])
            # For a slot that no node has, any node returns the right error.
            by_node[node_of(slot) or next(iter(self._nodes.nodes_cache))].append(place)
        for name, there in by_node.items():
            self._send(pending, there, name)

    def _send(self, pending: _Pending, places: Sequence[int], name: str) -> None:
        commands = [pending.commands[place] for place in places]
        deadline = pending.deadline
        if is_replica := self._asks_replicas and self._is_replica(name):
            now = asyncio.get_running_loop().time()
            deadline = now + REPLICA_SHARE * (deadline - now)
        arrived = partial(self._arrived, pending, places, name, is_replica)
        self._sender(name).ask(commands, arrived, deadline)

    def _is_replica(self, name: str) -> bool:
        node = self._nodes.get_node(node_name=name)
        return node is not None and node.server_type == REPLICA

    def _arrived(
        self,
        pending: _Pending,
        places: Sequence[int],
        name: str,
        is_replica: bool,
        replies: list[Any] | StoreUnavailable,
    ) -> None:
        if isinstance(replies, StoreUnavailable):
            self._learn_soon()
            if is_replica:
                # A read may be resent, since it changes nothing.
                self._avoided[name] = asyncio.get_running_loop().time() + AVOID_SECONDS
                self._route(pending, places, to_masters=True)
                return
            for place in places:
                pending.received(place, replies)
            return
        if is_replica and self._avoided:
            self._avoided.pop(name, None)
        for place, reply in zip(places, replies, strict=True):
            if not isinstance(reply, ErrorReply) or reply.code not in REDIRECTIONS:
                pending.received(place, reply)
            elif not self._redirect(pending, place, name, reply):
                pending.received(place, unavailable("the slots of the Cluster are moving"))

    def _redirect(self, pending: _Pending, place: int, name: str, reply: ErrorReply) -> bool:
        """Send a command to where this error reply redirects it; False if it is too late."""
        kind, *parts = str(reply).split(" ")
        most = MAX_REDIRECTIONS * len(pending.commands)
        if pending.redirections >= most:
            return False
        if kind == "TRYAGAIN":
            loop = asyncio.get_running_loop()
            if loop.time() + TRY_AGAIN_SECONDS > pending.deadline:
                return False
            loop.call_later(TRY_AGAIN_SECONDS, self._route, pending, [place])
            return True
        pending.redirections += 1
        slot, address = int(parts[0]), parts[1]
        host, _, port = address.rpartition(":")
        there = f"{name.rpartition(':')[0] if host in ('', '?') else host}:{port}"
        if kind == "MOVED":
            self._moved[slot] = there
            self._learn_soon()
            self._send(pending, [place], there)
        else:
            self._ask_there(pending, place, there)
        return True

    def _ask_there(self, pending: _Pending, place: int, name: str) -> None:
        """Send one command after ASKING: its slot is moving, and its key has moved already."""

        def arrived(replies: list[Any] | StoreUnavailable) -> None:
            if isinstance(replies, list):
                replies = replies[1:]
            self._arrived(pending, [place], name, False, replies)

        commands = [ASKING, pending.commands[place]]
        self._sender(name).ask(commands, arrived, pending.deadline)

    def _sender(self, name: str) -> CommandSender:
        if name not in self._senders:
            host, _, port = name.rpartition(":")
            node = ClusterNode(host, int(port), **self._nodes.connection_kwargs)
            options = dict(node.connection_kwargs)
            if self._asks_replicas:
                options["redis_connect_func"] = _may_read
            self._senders[name] = self._sender_to(
                partial(node.connection_class, **options), _in_logs(name)
            )
        return self._senders[name]

    def _learn(self) -> "asyncio.Task[None]":
        """Read the map of slots; calls at the same time share one task."""
        if self._learning is None:
            self._learning = asyncio.get_running_loop().create_task(self._learn_now())
            self._learning.add_done_callback(self._learnt)
        return self._learning

    def _learn_soon(self) -> None:
        loop = asyncio.get_running_loop()
        if self._learnt_at + MIN_MAP_SECONDS < loop.time():
            self._learnt_at = loop.time()
            self._learn()

    async def _learn_now(self) -> None:
        await read_map(self._nodes)
        self._moved.clear()
        self._is_lost = False
        gone = self._senders.keys() - self._nodes.nodes_cache.keys()
        for name in gone:
            self._avoided.pop(name, None)
            await self._senders.pop(name).close()

    def _learnt(self, learning: "asyncio.Task[None]") -> None:
        self._learning = None
        if learning.cancelled() or not (error := learning.exception()):
            return
        # It is queried repeatedly until it confirms that.
        was_lost, self._is_lost = self._is_lost, True
        if not was_lost:
            log.warning("the cluster does not say which node has which slot: %s", error)


def _in_logs(node: str) -> str:
    return f"Redis at {node}"


async def _may_read(connection: Any) -> None:
    """Send READONLY on a new connection: without it a replica would answer MOVED to its master."""
    await connection.on_connect()
    await connection.send_command("READONLY")
    await connection.read_response()


_KEY_AT = {b"EVALSHA": 8, b"EVAL": 8, b"MEMORY": 6}


def slot_of(command: Command) -> int:
    """The slot of a command's first key; its other keys are in the same one.

    The key follows the command's name, except after a script's digest and number of keys, and after
    a subcommand.
    """
    parts = command.split(b"\r\n", 9)
    return slot_of_key(parts[_KEY_AT.get(parts[2], 4)])


def slot_of_key(key: bytes) -> int:
    """The slot of a key, which may be packed if it has a hash tag."""
    start = key.find(b"{") + 1
    end = key.find(b"}", start)
    if start and end > start:
        key = key[start:end]
    return crc_hqx(key, 0) % SLOTS

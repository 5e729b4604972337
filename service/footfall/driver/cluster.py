"""A Redis Cluster as one sender: each command goes to the node that has its key's slot.

redis-py finds the nodes and opens connections; here is one wire a node, as for a single server. A
node that does not have a slot, or not any more, has not run the command it says so to: sending it
on is no second time. Everything else is as for a wire: what was sent is never sent again, with one
exception: a question that a replica has not answered in a share of its time is asked of the master.
That replica is left alone for a while then, but for a question now and then.
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
from redis.cluster import REPLICA

from ..errors import StoreUnavailable
from .connection import Command, CommandSender, Done, deliver, pack
from .replies import ErrorReply

log = logging.getLogger(__name__)

SLOTS = 16384
# How often one command is sent on before it is given up.
HOPS = 5
# While a slot moves, a script whose keys are on both sides has to wait.
PAUSE_SECONDS = 0.02
# How long a map of the slots is good for, at the least.
LEARN_SECONDS = 0.2
# What a replica has of a question's time; its master has the rest.
REPLICA_SHARE = 0.25
# How long a replica that did not answer is left alone.
AVOID_SECONDS = 1.0

ASKING = pack("ASKING")

Connect = Callable[[], AbstractConnection]


class _Question:
    """What was asked in one go, and the replies that have come, in its order."""

    def __init__(self, commands: Sequence[Command], done: Done, deadline: float) -> None:
        self.commands = commands
        self.done = done
        self.deadline = deadline
        self.replies: list[Any] = [None] * len(commands)
        self.missing = len(commands)
        self.hops = 0

    def heard(self, place: int, reply: Any) -> None:
        self.replies[place] = reply
        self.missing -= 1
        if not self.missing:
            deliver(self.done, self.replies)


class Cluster:
    """`door_to` makes the sender to one node, which the log calls by this name.

    With `asks_replicas`, no changes may come in here.
    """

    def __init__(
        self,
        client: RedisCluster,
        door_to: Callable[[Connect, str], CommandSender],
        *,
        asks_replicas: bool = False,
    ) -> None:
        self._client = client
        self._nodes = client.nodes_manager
        self._door_to = door_to
        self._asks_replicas = asks_replicas
        self._senders: dict[str, CommandSender] = {}
        # Slots that have moved since the map was made.
        self._moved: dict[int, str] = {}
        # Replicas that did not answer, and when the next question goes to them.
        self._avoided: dict[str, float] = {}
        self._learning: asyncio.Task[None] | None = None
        self._learnt_at = float("-inf")

    def ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None:
        question = _Question(commands, done, deadline)
        places = range(len(commands))
        if self._nodes.slots_cache:
            self._route(question, places)
            return

        def learnt(learning: "asyncio.Task[None]") -> None:
            if self._nodes.slots_cache:
                self._route(question, places)
                return
            failure = StoreUnavailable()
            failure.__cause__ = learning.exception()
            deliver(done, failure)

        self._learn().add_done_callback(learnt)

    def ask_node(self, node: str, commands: Sequence[Command], done: Done, deadline: float) -> None:
        """The same of commands that are all for the node which `node_of` has named."""
        if node:
            self._send(_Question(commands, done, deadline), range(len(commands)), node)
        else:
            self.ask(commands, done, deadline)

    def node_of(self, slot: int) -> str:
        """The node to be asked for what is in this slot; "" while nobody knows."""
        if self._asks_replicas and (replicas := self._nodes.slots_cache.get(slot, [])[1:]):
            # Always the same one: what was read once is not unread again.
            name = str(replicas[slot % len(replicas)].name)
            if not self._avoided or self._may_be_asked(name):
                return name
        return self._master_of(slot)

    async def masters(self) -> list[CommandSender]:
        """A sender to each node that takes changes. Raises StoreUnavailable."""
        try:
            await asyncio.shield(self._learn())
        except Exception as error:
            raise StoreUnavailable() from error
        return [self._sender(node.name) for node in self._client.get_primaries()]

    async def close(self) -> None:
        """For good, as a wire: nobody is asked any more where anything is."""
        self._learnt_at = float("inf")
        if self._learning:
            await asyncio.wait((self._learning,))
        await asyncio.gather(*(sender.close() for sender in self._senders.values()))

    def _master_of(self, slot: int) -> str:
        nodes = self._nodes.slots_cache.get(slot)
        return (self._moved.get(slot) or str(nodes[0].name)) if nodes else ""

    def _may_be_asked(self, replica: str) -> bool:
        now = asyncio.get_running_loop().time()
        if self._avoided.get(replica, now) > now:
            return False
        if replica in self._avoided:
            # This question finds out; others wait for what comes of it.
            self._avoided[replica] = now + AVOID_SECONDS
        return True

    def _route(
        self, question: _Question, places: Iterable[int], *, to_masters: bool = False
    ) -> None:
        node_of = self._master_of if to_masters else self.node_of
        by_node: defaultdict[str, list[int]] = defaultdict(list)
        for place in places:
            slot = slot_of(question.commands[place])
            # Of a slot that nobody has, any node says so.
            by_node[node_of(slot) or next(iter(self._nodes.nodes_cache))].append(place)
        for name, there in by_node.items():
            self._send(question, there, name)

    def _send(self, question: _Question, places: Sequence[int], name: str) -> None:
        commands = [question.commands[place] for place in places]
        deadline = question.deadline
        if is_replica := self._asks_replicas and self._is_replica(name):
            now = asyncio.get_running_loop().time()
            deadline = now + REPLICA_SHARE * (deadline - now)
        arrived = partial(self._arrived, question, places, name, is_replica)
        self._sender(name).ask(commands, arrived, deadline)

    def _is_replica(self, name: str) -> bool:
        node = self._nodes.get_node(node_name=name)
        return node is not None and node.server_type == REPLICA

    def _arrived(
        self,
        question: _Question,
        places: Sequence[int],
        name: str,
        is_replica: bool,
        replies: list[Any] | StoreUnavailable,
    ) -> None:
        if isinstance(replies, StoreUnavailable):
            self._learn_soon()
            if is_replica:
                # It may be asked in vain: nothing has changed by it.
                self._avoided[name] = asyncio.get_running_loop().time() + AVOID_SECONDS
                self._route(question, places, to_masters=True)
                return
            for place in places:
                question.heard(place, replies)
            return
        if is_replica and self._avoided:
            self._avoided.pop(name, None)
        for place, reply in zip(places, replies, strict=True):
            if not isinstance(reply, ErrorReply) or not self._is_sent_on(
                question, place, name, reply
            ):
                question.heard(place, reply)

    def _is_sent_on(self, question: _Question, place: int, name: str, reply: ErrorReply) -> bool:
        """Send a command to where this error reply says, if that is what it says."""
        kind, *words = str(reply).split(" ")
        if kind not in ("MOVED", "ASK", "TRYAGAIN") or question.hops >= HOPS * len(
            question.commands
        ):
            return False
        if kind == "TRYAGAIN":
            loop = asyncio.get_running_loop()
            if loop.time() + PAUSE_SECONDS > question.deadline:
                return False
            loop.call_later(PAUSE_SECONDS, self._route, question, [place])
            return True
        question.hops += 1
        slot, address = int(words[0]), words[1]
        host, _, port = address.rpartition(":")
        there = f"{host or name.rpartition(':')[0]}:{port}"
        if kind == "MOVED":
            self._moved[slot] = there
            self._learn_soon()
            self._send(question, [place], there)
        else:
            self._ask_there(question, place, there)
        return True

    def _ask_there(self, question: _Question, place: int, name: str) -> None:
        """This once: the slot is moving, and this key has moved already."""

        def arrived(replies: list[Any] | StoreUnavailable) -> None:
            if isinstance(replies, list):
                replies = replies[1:]
            self._arrived(question, [place], name, False, replies)

        commands = [ASKING, question.commands[place]]
        self._sender(name).ask(commands, arrived, question.deadline)

    def _sender(self, name: str) -> CommandSender:
        if name not in self._senders:
            host, _, port = name.rpartition(":")
            node = ClusterNode(host, int(port), **self._nodes.connection_kwargs)
            options = dict(node.connection_kwargs)
            if self._asks_replicas:
                options["redis_connect_func"] = _may_read
            self._senders[name] = self._door_to(
                partial(node.connection_class, **options), f"Redis at {name}"
            )
        return self._senders[name]

    def _learn(self) -> "asyncio.Task[None]":
        """Ask which node has which slot; those who want to know at once share the question."""
        if self._learning is None:
            self._learning = asyncio.get_running_loop().create_task(self._learn_now())
            self._learning.add_done_callback(self._learnt)
        return self._learning

    def _learn_soon(self) -> None:
        loop = asyncio.get_running_loop()
        if self._learnt_at + LEARN_SECONDS < loop.time():
            self._learnt_at = loop.time()
            self._learn()

    async def _learn_now(self) -> None:
        if self._nodes.slots_cache:
            await self._nodes.initialize()
        else:
            await self._client.initialize()
        self._moved.clear()
        gone = self._senders.keys() - self._nodes.nodes_cache.keys()
        for name in gone:
            self._avoided.pop(name, None)
            await self._senders.pop(name).close()

    def _learnt(self, learning: "asyncio.Task[None]") -> None:
        self._learning = None
        if error := learning.exception():
            log.warning("the cluster does not say which node has which slot: %s", error)


async def _may_read(connection: Any) -> None:
    """Greet a node that may be a replica, which would otherwise send us to its master."""
    await connection.on_connect()
    await connection.send_command("READONLY")
    await connection.read_response()


_KEY_AT = {b"EVALSHA": 8, b"EVAL": 8, b"MEMORY": 6}


def slot_of(command: Command) -> int:
    """The slot of a command's first key, which its others share.

    The key is the first word, but for scripts, whose number of keys comes before, and where there
    is a subcommand.
    """
    words = command.split(b"\r\n", 9)
    return slot_of_key(words[_KEY_AT.get(words[2], 4)])


def slot_of_key(key: bytes) -> int:
    """The slot of a key; packed will do, if it has a hash tag."""
    start = key.find(b"{") + 1
    end = key.find(b"}", start)
    if start and end > start:
        key = key[start:end]
    return crc_hqx(key, 0) % SLOTS

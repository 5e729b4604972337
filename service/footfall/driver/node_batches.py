"""The batches of a Cluster: one for each node, independent of the others.

A request joins the batches of the nodes that have its keys, nearly always one, and is answered when
all of them have answered. So a slow node delays only requests for its own keys.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

from .batch import MAX_NODE_BATCHES_IN_FLIGHT, Ask, Batch, Batcher, Began, Dating
from .client import RedisClient
from .cluster import Cluster, slot_of_key
from .connection import CommandSender
from .packed import PackedChange, PackedRead
from .replies import deliver
from .script_calls import CountsCallback, Rate
from .scripts import Scripts
from .visits import Visitor


class NodeBatches:
    """A `Batcher`; `make` makes a Batch of the function that sends to a node."""

    def __init__(self, cluster: Cluster, make: Callable[[Ask], Batch]) -> None:
        self._cluster = cluster
        self._make = make
        self._batches: dict[str, Batch] = {}

    @property
    def waiting(self) -> int:
        return sum(each.waiting for each in self._batches.values())

    @property
    def is_idle(self) -> bool:
        return all(each.is_idle for each in self._batches.values())

    def read(self, read: PackedRead, done: CountsCallback) -> None:
        nodes = list(map(self._cluster.node_of, read.slots))
        if not nodes:
            return deliver(done, [])
        if nodes.count(nodes[0]) == len(nodes):
            return self._batch(nodes[0]).read(read, done)
        if read.split[0] != nodes:
            read.split = nodes, _parts(read, nodes)
        joint = _Joint(read.size, len(read.split[1]), done)
        for node, places, part in read.split[1]:
            self._batch(node).read(part, partial(joint.received, places))

    def add(
        self, change: PackedChange, done: CountsCallback, visitor: Visitor | None = None
    ) -> None:
        if len(change.parts) == 1:
            return self._batch_at(change.slot).add(change, done, visitor)
        joint = _Joint(change.size, len(change.parts), done)
        for places, part in change.parts:
            self._batch_at(part.slot).add(part, partial(joint.received, places), visitor)

    def take_tokens(self, bucket: str, tokens: int, rate: Rate, done: CountsCallback) -> None:
        batch = self._batch_at(slot_of_key(bucket.encode()))
        batch.take_tokens(bucket, tokens, rate, done)

    def _batch_at(self, slot: int) -> Batch:
        return self._batch(self._cluster.node_of(slot))

    def _batch(self, node: str) -> Batch:
        if node not in self._batches:
            # Batches of nodes that have left the Cluster would stay for ever.
            for name, batch in [*self._batches.items()]:
                if batch.is_idle:
                    del self._batches[name]
            self._batches[node] = self._make(partial(self._cluster.ask_node, node))
        return self._batches[node]


class _Joint:
    """A request to several nodes: answered when all have answered, or one has failed."""

    def __init__(self, size: int, nodes: int, done: CountsCallback) -> None:
        self._counts = [0] * size
        self._missing = nodes
        self._done = done

    def received(self, places: Sequence[int], counts: list[int] | Exception) -> None:
        if self._missing <= 0:
            return
        if isinstance(counts, Exception):
            self._missing = 0
            deliver(self._done, counts)
            return
        for place, count in zip(places, counts, strict=True):
            self._counts[place] = count
        self._missing -= 1
        if not self._missing:
            deliver(self._done, self._counts)


def _parts(read: PackedRead, nodes: list[str]) -> list[tuple[str, list[int], PackedRead]]:
    """Of a read for several nodes, what is for each, and its places in the whole."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, node in enumerate(nodes):
        places[node].append(place)
    return [
        (node, there, PackedRead([read.commands[i] for i in there]))
        for node, there in places.items()
    ]


def batcher_of(
    sender: CommandSender,
    redis: RedisClient,
    scripts: Scripts,
    began: Began,
    dating: Dating | None = None,
) -> Batcher:
    """The Batcher for this sender: a Batch, or a Batch for each node of a Cluster."""
    make = partial(Batch, redis, scripts, began, dating)
    if isinstance(sender, Cluster):
        make = partial(make, most_in_flight=MAX_NODE_BATCHES_IN_FLIGHT)
        return NodeBatches(sender, make)
    return make(sender.ask)


def batches_of(
    redis: RedisClient, scripts: Scripts, began: Began, dating: Dating | None
) -> dict[CommandSender, Batcher]:
    """A Batcher for each sender: changes may wait for the disk or for replicas, and reads must not
    wait behind them. With `dating` views are dated."""
    return {
        sender: batcher_of(sender, redis, scripts, began, dating)
        for sender in (redis.sender, redis.prompt, redis.changes)
    }

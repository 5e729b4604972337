"""The batches of a Cluster: one for each node, independent of the others.

A request joins the batches of the nodes that have its keys, nearly always one, and is answered when
all of them have answered. So a slow node delays only requests for its own keys.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from .batch import MAX_NODE_BATCHES_IN_FLIGHT, Ask, Batch, Batcher
from .batch_kinds import CountsCallback, PackedNames, Rate
from .client import RedisClient
from .cluster import Cluster, slot_of_key
from .connection import CommandSender
from .replies import deliver
from .scripts import Scripts

T = TypeVar("T")


class NodeBatches:
    """A `Batcher`; `make` makes a Batch of the function that sends to a node."""

    def __init__(self, cluster: Cluster, packed: PackedNames, make: Callable[[Ask], Batch]) -> None:
        self._cluster = cluster
        self._packed = packed
        self._make = make
        self._batches: dict[str, Batch] = {}
        # The new weight of batches that were removed.
        self._new_weight = 0

    @property
    def new_weight(self) -> int:
        return self._new_weight + sum(each.new_weight for each in self._batches.values())

    @property
    def waiting(self) -> int:
        return sum(each.waiting for each in self._batches.values())

    def read(self, names: Sequence[str], done: CountsCallback) -> None:
        self._share(names, names, Batch.read, done)

    def add(self, changes: Sequence[tuple[str, int]], done: CountsCallback) -> None:
        self._share([name for name, _ in changes], changes, Batch.add, done)

    def take_tokens(self, bucket: str, tokens: int, rate: Rate, done: CountsCallback) -> None:
        slot = slot_of_key(bucket.encode())
        self._batch(self._cluster.node_of(slot)).take_tokens(bucket, tokens, rate, done)

    def version(self, path: str, done: CountsCallback) -> None:
        slot = slot_of_key(self._packed.versions[path])
        self._batch(self._cluster.node_of(slot)).version(path, done)

    def _share(
        self,
        names: Sequence[str],
        items: Sequence[T],
        join: Callable[[Batch, Sequence[T], CountsCallback], None],
        done: CountsCallback,
    ) -> None:
        """Join each of the items, which belong to these counters, to the batch of its node."""
        node_of, slots = self._cluster.node_of, self._packed.slots
        nodes = [node_of(slots[name]) for name in names]
        if not nodes:
            deliver(done, [])
            return
        if nodes.count(nodes[0]) == len(nodes):
            join(self._batch(nodes[0]), items, done)
            return
        places: defaultdict[str, list[int]] = defaultdict(list)
        for place, node in enumerate(nodes):
            places[node].append(place)
        joint = _Joint(len(names), len(places), done)
        for node, there in places.items():
            join(self._batch(node), [items[i] for i in there], partial(joint.received, there))

    def _batch(self, node: str) -> Batch:
        if node not in self._batches:
            # Batches of nodes that have left the Cluster would stay for ever.
            for name, batch in [*self._batches.items()]:
                if batch.is_idle:
                    self._new_weight += self._batches.pop(name).new_weight
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


def batcher_of(
    sender: CommandSender, redis: RedisClient, scripts: Scripts, packed: PackedNames
) -> Batcher:
    """The Batcher for this sender: a Batch, or a Batch for each node of a Cluster."""
    make = partial(Batch, redis, scripts, packed)
    if isinstance(sender, Cluster):
        make = partial(make, most_in_flight=MAX_NODE_BATCHES_IN_FLIGHT)
        return NodeBatches(sender, packed, make)
    return make(sender.ask)


def batches_of(
    redis: RedisClient, scripts: Scripts, packed: PackedNames
) -> dict[CommandSender, Batcher]:
    """A Batcher for each sender: changes may wait for the disk or for replicas, and reads must not
    wait behind them."""
    return {
        sender: batcher_of(sender, redis, scripts, packed)
        for sender in (redis.sender, redis.prompt, redis.changes)
    }

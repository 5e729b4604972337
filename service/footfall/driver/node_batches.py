"""The batches of a Cluster: one for each node, independent of the others.

A request joins the batches of the nodes that have its keys, nearly always one, and is answered when
all of them have answered. So a slow node delays only requests for its own keys.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

from .batch import Ask, Batch
from .cluster import Cluster, slot_of_key
from .reads import PackedRead
from .replies import deliver
from .script_calls import CountsCallback, Rate

B = TypeVar("B", bound=Batch)


class NodeBatches(Generic[B]):
    """A `Batcher`; `make` makes a batch of the function that sends to a node."""

    def __init__(self, cluster: Cluster, make: Callable[[Ask], B]) -> None:
        self._cluster = cluster
        self._make = make
        self._batches: dict[str, B] = {}

    @property
    def waiting(self) -> int:
        return sum(batch.waiting for batch in self._batches.values())

    @property
    def is_idle(self) -> bool:
        return all(batch.is_idle for batch in self._batches.values())

    def read(self, read: PackedRead, done: CountsCallback) -> None:
        nodes = list(map(self._cluster.node_of, read.slots))
        if not nodes:
            return deliver(done, [])
        if nodes.count(nodes[0]) == len(nodes):
            return self._batch(nodes[0]).read(read, done)
        if read.split[0] != nodes:
            read.split = nodes, _parts(read, nodes)
        joint = Joint(read.size, len(read.split[1]), done)
        for node, places, part in read.split[1]:
            self._batch(node).read(part, partial(joint.received, places))

    def take_tokens(self, bucket: str, tokens: int, rate: Rate, done: CountsCallback) -> None:
        batch = self._at(slot_of_key(bucket.encode()))
        batch.take_tokens(bucket, tokens, rate, done)

    def _at(self, slot: int) -> B:
        return self._batch(self._cluster.node_of(slot))

    def _batch(self, node: str) -> B:
        if node not in self._batches:
            # Batches of nodes that have left the Cluster would stay for ever.
            for name, batch in [*self._batches.items()]:
                if batch.is_idle:
                    del self._batches[name]
            self._batches[node] = self._make(partial(self._cluster.ask_node, node))
        return self._batches[node]


class Joint:
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
    """The parts of a read for several nodes, and their places in the whole."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, node in enumerate(nodes):
        places[node].append(place)
    return [
        (node, there, PackedRead([read.commands[i] for i in there]))
        for node, there in places.items()
    ]

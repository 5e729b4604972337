"""The batches of a Cluster: one for each node, which leaves, waits and is answered by itself.

A request joins those of the nodes that have what it wants, nearly always one, and is answered when
these have answered. A node that is slow or silent harms only who wants something of it.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from .batch import NODE_IN_FLIGHT, Ask, Batch, Batcher
from .batch_kinds import CountsCallback, Rate, Words
from .client import Connected
from .cluster import Cluster, slot_of_key
from .connection import CommandSender, deliver
from .scripts import Scripts

T = TypeVar("T")


class NodeBatches:
    """A `Batcher`; `make` makes a batch of how a node is asked."""

    def __init__(self, cluster: Cluster, words: Words, make: Callable[[Ask], Batch]) -> None:
        self._cluster = cluster
        self._words = words
        self._make = make
        self._batches: dict[str, Batch] = {}
        # By batches that are here no longer.
        self._begun = 0
        self._accounts_slot = slot_of_key(words.accounts_version)

    @property
    def begun(self) -> int:
        return self._begun + sum(each.begun for each in self._batches.values())

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
        key, joint = self._words.versions[path], _Joint(2, 2, done)
        batch = self._batch(self._cluster.node_of(slot_of_key(key)))
        batch.numbers([key], partial(joint.heard, [0]))
        batch = self._batch(self._cluster.node_of(self._accounts_slot))
        batch.numbers([self._words.accounts_version], partial(joint.heard, [1]))

    def _share(
        self,
        names: Sequence[str],
        wishes: Sequence[T],
        ask: Callable[[Batch, Sequence[T], CountsCallback], None],
        done: CountsCallback,
    ) -> None:
        """Ask for what is wished of these counters, each of its node."""
        node_of, slots = self._cluster.node_of, self._words.slots
        nodes = [node_of(slots[name]) for name in names]
        if not nodes:
            deliver(done, [])
            return
        if nodes.count(nodes[0]) == len(nodes):
            ask(self._batch(nodes[0]), wishes, done)
            return
        places: defaultdict[str, list[int]] = defaultdict(list)
        for place, node in enumerate(nodes):
            places[node].append(place)
        joint = _Joint(len(names), len(places), done)
        for node, there in places.items():
            ask(self._batch(node), [wishes[i] for i in there], partial(joint.heard, there))

    def _batch(self, node: str) -> Batch:
        if node not in self._batches:
            # Nodes come and go under new names.
            for name, batch in [*self._batches.items()]:
                if batch.is_idle:
                    self._begun += self._batches.pop(name).begun
            self._batches[node] = self._make(partial(self._cluster.ask_node, node))
        return self._batches[node]


class _Joint:
    """What one request wants of several nodes: answered when all have, or the first has failed."""

    def __init__(self, size: int, nodes: int, done: CountsCallback) -> None:
        self._counts = [0] * size
        self._missing = nodes
        self._done = done

    def heard(self, places: Sequence[int], counts: list[int] | Exception) -> None:
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
    sender: CommandSender,
    redis: Connected,
    scripts: Scripts,
    words: Words,
    kind: type[Batch] = Batch,
) -> Batcher:
    """What batches for whatever this sender sends to."""
    make = partial(kind, redis, scripts, words)
    if isinstance(sender, Cluster):
        return NodeBatches(sender, words, partial(make, most_in_flight=NODE_IN_FLIGHT))
    return make(sender.ask)

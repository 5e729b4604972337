"""Which node of a Cluster has which key, by the keys' real names, and what a batch wants of it.

Counters share a slot with all others of their group, so what a batch wants of a group is one
command; each page of comments has a slot of its own.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from footfall.driver.cluster import SLOTS, slot_of
from footfall.driver.connection import pack
from footfall.driver.keys import GROUPS, Keys, digest

from ..scenarios import path

KEYS = Keys("ff", 65_536, b"fleet")


@cache
def node_of(key: str, nodes: int) -> int:
    """Slots are divided into ranges of equal length, as when a Cluster is made."""
    return slot_of(pack("GET", key)) * nodes // SLOTS


@cache
def counter_at(rank: int, nodes: int) -> tuple[int, bytes]:
    """(node, group) of a path's counters."""
    key = KEYS.counts(f"time {path(rank)}")
    return node_of(key, nodes), Keys.group_of(key.encode())


@cache
def page_at(rank: int, nodes: int) -> int:
    return node_of(KEYS.page(digest(path(rank)), "version"), nodes)


def groups_by_node(nodes: int, groups: int = GROUPS) -> list[int]:
    """How many of so many groups of counters each node has."""
    found = Counter(node_of(KEYS.counts_of(group), nodes) for group in range(groups))
    return [found[node] for node in range(nodes)]


def zipf_weights(paths: int, s: float) -> list[float]:
    """Running sums: the k-th path weighs 1 / k**s."""
    return list(accumulate(rank**-s for rank in range(1, paths + 1)))


def shares_by_node(nodes: int, paths: int, s: float) -> list[float]:
    """Each node's share of all changes of counters."""
    shares, before = [0.0] * nodes, 0.0
    weights = zipf_weights(paths, s)
    for rank, until in enumerate(weights):
        shares[counter_at(rank, nodes)[0]] += until - before
        before = until
    return [share / weights[-1] for share in shares]


# What a request wants, and what that is in a batch.

# A kind and its object; equal wishes are in a batch once if the kind is a read.
Wish = tuple[str, object]
READS = ("read", "version")


def wishes(kind: str, rank: int, number: int, nodes: int) -> list[tuple[int, Wish]]:
    """(node, wish) of each entry of a request; `number` tells it from others of its kind."""
    match kind:
        case "view":
            # An address's first changes take no tokens in Redis.
            node, group = counter_at(rank, nodes)
            return [(node, ("add", group))]
        case "read":
            return [(counter_at(rank, nodes)[0], ("read", rank))]
        case "page":
            return [(page_at(rank, nodes), ("version", rank))]
        case "submit":
            recent = node_of(KEYS.site("recent"), nodes)
            return [(page_at(rank, nodes), ("submit", number)), (recent, ("follow", number))]
    raise ValueError(kind)


@dataclass(frozen=True, slots=True)
class Part:
    """What one batch wants of one node: so many of each kind, in so many commands of each."""

    items: Mapping[str, int]
    commands: Mapping[str, int]


def part_of(wanted: Iterable[Wish], nodes: int) -> Part:
    """A single server gets one command a kind, a Cluster's node one a slot; a counter that is read
    is a command on both."""
    wanted = list(wanted)
    changes = [wish for wish in wanted if wish[0] not in READS]
    reads = dict.fromkeys(wish for wish in wanted if wish[0] in READS)
    items = Counter(kind for kind, _ in (*changes, *reads))
    slots = Counter(kind for kind, _ in {*changes, *reads})
    if nodes == 1:
        slots = Counter({kind: n if kind == "read" else 1 for kind, n in slots.items()})
    return Part(items, slots)

"""Which node of a Cluster has which key, by the keys' real names: a batch's parts, a page's share.

Counters share a slot with all others of their group, so what a batch wants of a group is one
command; an address and a page of comments have a slot each.
"""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import accumulate, count
from random import Random

from service.store.cluster import SLOTS, slot_of
from service.store.keys import GROUPS, Keys, digest
from service.store.wire import pack

from .scenarios import path

KEYS = Keys("ff", 65_536, b"fleet")


@cache
def node_of(key: str, nodes: int) -> int:
    """Slots in as many ranges of equal length, as a Cluster is made by default."""
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


# What a batch wants.


class Part:
    """What one batch wants of one node: so many of each kind, in so many commands."""

    def __init__(self) -> None:
        self.items: Counter[str] = Counter()
        self.commands: set[tuple[str, object]] = set()


def parts(wishes: Iterable[tuple[str, int]], nodes: int, random: Random) -> dict[int, Part]:
    """By node. A wish is a kind and the rank of its path; what is read twice is asked for once."""
    found: dict[int, Part] = {}
    numbers = count()

    def want(kind: str, node: int, slot: object) -> None:
        part = found.setdefault(node, Part())
        part.items[kind] += 1
        # A single server is sent one command a kind, a Cluster's nodes one a slot; a counter that
        # is read is a command wherever it lies.
        part.commands.add((kind, slot if nodes > 1 or kind == "read" else None))

    once = dict.fromkeys(wish for wish in wishes if wish[0] in ("read", "version"))
    for kind, rank in (*(wish for wish in wishes if wish not in once), *once):
        match kind:
            case "add":
                want(kind, *counter_at(rank, nodes))
            case "read":
                want(kind, counter_at(rank, nodes)[0], rank)
            case "version":
                want(kind, page_at(rank, nodes), rank)
            case "spend":
                # Another address each, so another slot.
                want(kind, random.randrange(nodes), next(numbers))
            case "submit":
                want(kind, page_at(rank, nodes), next(numbers))
                want("announce", node_of(KEYS.site("recent"), nodes), next(numbers))
    if any(kind == "version" for kind, _ in once):
        want("version", node_of(KEYS.accounts_version, nodes), "accounts")
    return found

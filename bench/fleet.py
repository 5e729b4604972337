"""A simulation of many workers before many nodes: who is busy, and where a hot key bites.

Requests are drawn and batches formed as the service forms them: what one turn of a worker's event
loop wants leaves together, four batches at most are under way, each counter is read once a batch,
and the keys' real names say which node is asked. Only time is made up: it passes by what costs.py
and the bench have measured. A node takes whatever has come as one turn, so that one fsync serves
them all. Costs are taken to be sums, which a real server's are but roughly; nothing is lost, nobody
hangs up, and the network is a constant.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate, count
from random import Random
from typing import Any

from service.store.batch import IN_FLIGHT
from service.store.cluster import SLOTS, slot_of
from service.store.keys import GROUPS, Keys, digest
from service.store.wire import pack

from .scenarios import path
from .stats import percentile

KEYS = Keys("ff", 16_384)
# There and back between a worker and its node, in one data centre.
TRIP_US = 200.0
# What of the simulated time is looked at: before, queues fill.
WARM = 0.3
# A site's requests, as the bench mixes them.
SITE = {"view": 0.475, "read": 0.475, "page": 0.045, "submit": 0.005}


@dataclass(frozen=True, slots=True)
class Costs:
    """In µs. Of a node: `part` for what one batch wants of it, read and answered; `call` for each
    command and `item` for each counter, token, version or comment, by kind; `fsync` for a turn with
    changes in it. Of a worker: `request` by kind, `send` for each further command of a batch."""

    part: float
    call: Mapping[str, float]
    item: Mapping[str, float]
    request: Mapping[str, float]
    send: float
    fsync: float = 0.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """`rate` is requests a second of each worker; paths are drawn by Zipf's law with exponent `s`.

    `is_tolled`: every view comes from another address, which has to pay first.
    """

    nodes: int
    workers: int
    rate: float
    mix: Mapping[str, float] = field(default_factory=lambda: SITE)
    paths: int = 100_000
    s: float = 1.0
    is_tolled: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """`busy` are shares of time, `kept_up` is the share of what was asked that was answered:
    below 1, the fleet falls behind. `batch` is in wishes, of which a paid view has two. `saved` is
    the share of reads that another request of the same batch had asked for."""

    rate: float
    kept_up: float
    worker_busy: float
    nodes_busy: tuple[float, ...]
    batch: float
    commands: float
    node_us: float
    saved: float
    p50_us: float
    p99_us: float

    @property
    def hottest(self) -> float:
        return max(self.nodes_busy)


# Where keys lie.


@cache
def node_of(key: str, nodes: int) -> int:
    """Slots in as many ranges of equal length, as a Cluster is made by default."""
    return slot_of(pack("GET", key)) * nodes // SLOTS


@cache
def counter_at(rank: int, nodes: int) -> tuple[int, bytes]:
    """(node, group) of a path's counters."""
    key = KEYS.counts(path(rank))
    return node_of(key, nodes), Keys.group_of(key.encode())


@cache
def page_at(rank: int, nodes: int) -> int:
    return node_of(KEYS.page(digest(path(rank)), "version"), nodes)


def groups_by_node(nodes: int) -> list[int]:
    """How many of the groups of counters each node has."""
    found = Counter(node_of(KEYS.counts_of(group), nodes) for group in range(GROUPS))
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

    def us(self, costs: Costs) -> float:
        items = sum(costs.item[kind] * n for kind, n in self.items.items())
        return costs.part + sum(costs.call[kind] for kind, _ in self.commands) + items

    @property
    def changes(self) -> bool:
        return not self.items.keys() <= {"read", "version"}


def parts(wishes: Iterable[tuple[str, int]], nodes: int, random: Random) -> dict[int, Part]:
    """By node. A wish is a kind and the rank of its path; what is read twice is asked for once."""
    found: dict[int, Part] = {}
    numbers = count()

    def want(kind: str, node: int, slot: object) -> None:
        part = found.setdefault(node, Part())
        part.items[kind] += 1
        # A single server is sent one command a kind; a Cluster's nodes one a slot.
        part.commands.add((kind, slot if nodes > 1 else None))

    once = dict.fromkeys(wish for wish in wishes if wish[0] in ("read", "version"))
    for kind, rank in (*(wish for wish in wishes if wish not in once), *once):
        match kind:
            case "add" | "read":
                want(kind, *counter_at(rank, nodes))
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


# The simulation.

Wish = tuple[str, int, float]
FIRST = {"view": "add", "read": "read", "page": "version", "submit": "submit"}


class _Worker:
    def __init__(self, first: float) -> None:
        self.next_at = first
        self.free_at = self.wakes_at = 0.0
        self.in_flight = 0
        self.forming: list[Wish] = []


class _Batch:
    def __init__(self, worker: _Worker, wishes: list[Wish], parts: int) -> None:
        self.worker = worker
        self.wishes = wishes
        self.missing = parts


class _Node:
    def __init__(self) -> None:
        self.queue: list[tuple[Part, _Batch]] = []
        self.is_busy = False
        self.busy_us = 0.0


class Simulation:
    def __init__(self, fleet: Fleet, costs: Costs, seed: object = "fleet") -> None:
        self._fleet = fleet
        self._costs = costs
        self._random = Random(repr(seed))
        self._weights = zipf_weights(fleet.paths, fleet.s)
        self._ranks = range(fleet.paths)
        self._kinds = list(fleet.mix)
        self._kind_weights = list(fleet.mix.values())
        self._gap = 1e6 / fleet.rate
        self._nodes = [_Node() for _ in range(fleet.nodes)]
        self._order = count()
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._since = self._until = self._worker_us = self._node_us = 0.0
        self._batches = self._wishes = self._commands = 0
        self._reads: Counter[str] = Counter()
        self._waits: list[float] = []

    def run(self, requests: int) -> Outcome:
        fleet = self._fleet
        end = requests / (fleet.rate * fleet.workers) * 1e6
        self._since, self._until = WARM * end, end
        for _ in range(fleet.workers):
            worker = _Worker(self._random.expovariate(1) * self._gap)
            self._wake(worker, worker.next_at)
        while self._events and self._events[0][0] < end:
            now, _, what, who = heapq.heappop(self._events)
            what(now, *who)
        seconds = (end - self._since) / 1e6
        done, batches = max(len(self._waits), 1), max(self._batches, 1)
        waits = self._waits or [float("inf")]
        return Outcome(
            rate=len(self._waits) / seconds,
            kept_up=len(self._waits) / seconds / (fleet.rate * fleet.workers),
            worker_busy=self._worker_us / (seconds * 1e6 * fleet.workers),
            nodes_busy=tuple(node.busy_us / (seconds * 1e6) for node in self._nodes),
            batch=self._wishes / batches,
            commands=self._commands / batches,
            node_us=self._node_us / done,
            saved=1 - self._reads["asked"] / max(self._reads["wished"], 1),
            p50_us=percentile(waits, 0.5),
            p99_us=percentile(waits, 0.99),
        )

    def _at(self, when: float, what: Callable[..., None], *who: Any) -> None:
        heapq.heappush(self._events, (when, next(self._order), what, who))

    def _wake(self, worker: _Worker, when: float) -> None:
        worker.wakes_at = max(when, worker.free_at)
        self._at(worker.wakes_at, self._turn, worker)

    def _turn(self, now: float, worker: _Worker) -> None:
        """One turn of a worker's event loop: all that has come, and then the batch leaves."""
        if now != worker.wakes_at:
            # It was woken before that.
            return
        busy = 0.0
        while worker.next_at <= now:
            (kind,) = self._random.choices(self._kinds, self._kind_weights)
            (rank,) = self._random.choices(self._ranks, cum_weights=self._weights)
            busy += self._costs.request[kind]
            is_tolled = kind == "view" and self._fleet.is_tolled
            wish = "spend" if is_tolled else FIRST[kind]
            worker.forming.append((wish, rank, worker.next_at))
            worker.next_at += self._random.expovariate(1) * self._gap
        if worker.forming and worker.in_flight < IN_FLIGHT:
            busy += self._leave(now + busy, worker)
        worker.free_at = now + busy
        if now >= self._since:
            self._worker_us += min(busy, self._until - now)
        self._wake(worker, worker.next_at)

    def _leave(self, now: float, worker: _Worker) -> float:
        """µs that sending takes."""
        wishes, worker.forming = worker.forming, []
        worker.in_flight += 1
        asked = parts([wish[:2] for wish in wishes], self._fleet.nodes, self._random)
        batch = _Batch(worker, wishes, len(asked))
        commands = sum(len(part.commands) for part in asked.values())
        us = self._costs.send * (commands - 1)
        for node, part in asked.items():
            self._at(now + us + TRIP_US / 2, self._reach, self._nodes[node], part, batch)
        if now >= self._since:
            self._batches += 1
            self._wishes += len(wishes)
            self._reads["wished"] += sum(kind == "read" for kind, _, _ in wishes)
            self._reads["asked"] += sum(part.items["read"] for part in asked.values())
            self._commands += commands
        return us

    def _reach(self, now: float, node: _Node, part: Part, batch: _Batch) -> None:
        node.queue.append((part, batch))
        if not node.is_busy:
            self._serve(now, node)

    def _serve(self, now: float, node: _Node) -> None:
        """One turn of a node: all that has come, and one fsync for it."""
        taken, node.queue = node.queue, []
        node.is_busy = True
        us = sum(part.us(self._costs) for part, _ in taken)
        if any(part.changes for part, _ in taken):
            us += self._costs.fsync
        if now >= self._since:
            us_within = min(us, self._until - now)
            node.busy_us += us_within
            self._node_us += us_within
        self._at(now + us, self._served, node, taken)

    def _served(self, now: float, node: _Node, taken: list[tuple[Part, _Batch]]) -> None:
        node.is_busy = False
        for _, batch in taken:
            self._at(now + TRIP_US / 2, self._reply, batch)
        if node.queue:
            self._serve(now, node)

    def _reply(self, now: float, batch: _Batch) -> None:
        batch.missing -= 1
        if batch.missing:
            return
        worker = batch.worker
        worker.in_flight -= 1
        for wish, rank, asked_at in batch.wishes:
            if wish == "spend":
                worker.forming.append(("add", rank, asked_at))
            elif now >= self._since:
                self._waits.append(now - asked_at)
        if worker.forming:
            self._wake(worker, now)


# The least that is simulated.
SECONDS, REQUESTS = 0.1, 20_000
# A fleet that does not keep up with that is one worker too many.
P99_US, KEPT_UP = 10_000.0, 0.97


def simulate(fleet: Fleet, costs: Costs) -> Outcome:
    requests = max(REQUESTS, round(fleet.rate * fleet.workers * SECONDS))
    return Simulation(fleet, costs).run(requests)


def is_carried(outcome: Outcome) -> bool:
    return outcome.p99_us <= P99_US and outcome.kept_up >= KEPT_UP


def most(fleet: Fleet, costs: Costs) -> tuple[Fleet, Outcome]:
    """The fleet with as many workers as its nodes carry, to a tenth."""
    best = replace(fleet, workers=1)
    outcome = simulate(best, costs)
    for step in (1.6, 1.1):
        while True:
            more = replace(best, workers=max(best.workers + 1, round(best.workers * step)))
            tried = simulate(more, costs)
            if not is_carried(tried):
                break
            best, outcome = more, tried
    return best, outcome

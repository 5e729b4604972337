"""A simulation of many workers and many nodes: which are busy, and what a hot key does.

Requests are drawn and batches formed as the service forms them: what one turn of a worker's event
loop wants of a node leaves together, at most a few batches are under way to each node, each counter
is read once a batch, and placement.py says which node is asked. Only time is simulated: it passes
by what costs.py and the bench have measured. Costs are taken to be sums, which is roughly true of a
real server; nothing is lost, nobody closes a connection, and the network's delay is constant.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from random import Random

from footfall.driver.batch import MAX_BATCHES_IN_FLIGHT, MAX_NODE_BATCHES_IN_FLIGHT

from ..stats import percentile
from .placement import Part, Wish, part_of, wishes, zipf_weights

# There and back between a worker and a node in one data centre.
TRIP_US = 200.0
# The part of the simulated time that counts: not the beginning, when queues fill.
SECONDS, WARM = 0.1, 0.3
# The least time that is simulated.
REQUESTS = 20_000
# A fleet that answers a smaller share than this has one worker too many.
P99_US, KEPT_UP = 10_000.0, 0.97
# The requests of a site, as the bench mixes them.
SITE = {"view": 0.475, "read": 0.475, "page": 0.045, "submit": 0.005}


@dataclass(frozen=True, slots=True)
class Costs:
    """All in µs. Of a node: `part` for its part of a batch, read and answered; `call` for each
    command and `item` for each counter, token, version or comment, by kind. Of a worker: `request`
    by kind, `send` for each further command of a batch."""

    part: float
    call: Mapping[str, float]
    item: Mapping[str, float]
    request: Mapping[str, float]
    send: float

    def of(self, part: Part) -> float:
        """The cost of a node's part of a batch."""
        items = sum(self.item[kind] * n for kind, n in part.items.items())
        return self.part + sum(self.call[kind] * n for kind, n in part.commands.items()) + items

    def mean(self, mix: Mapping[str, float]) -> float:
        """A worker's mean cost for a request of this mix."""
        return sum(share * self.request[kind] for kind, share in mix.items())


@dataclass(frozen=True, slots=True)
class Fleet:
    """`rate` is requests a second of each worker; paths are drawn by Zipf's law with exponent `s`.

    Each view comes from another address, whose first changes take no tokens in Redis
    (rate_limit.py).
    """

    nodes: int
    workers: int
    rate: float
    mix: Mapping[str, float] = field(default_factory=lambda: SITE)
    paths: int = 100_000
    s: float = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """`busy` are shares of time, `kept_up` is the share of requests that was answered in time:
    below 1, the fleet falls behind. `batch` is the number of entries in one batch for one node, and
    `commands` of its commands. `saved` is the share of reads that another request of the same batch
    had asked for. `asked` and `answered` are requests from the first to the last."""

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
    asked: int
    answered: int

    @property
    def hottest(self) -> float:
        return max(self.nodes_busy)

    @property
    def is_carried(self) -> bool:
        return self.p99_us <= P99_US and self.kept_up >= KEPT_UP


@dataclass(slots=True)
class _Request:
    asked_at: float
    # Entries without an answer so far.
    missing: int


@dataclass(slots=True)
class _Worker:
    next_at: float
    free_at: float = 0.0
    wakes_at: float = 0.0
    # By node.
    in_flight: Counter[int] = field(default_factory=Counter)
    forming: defaultdict[int, list[tuple[Wish, _Request]]] = field(
        default_factory=lambda: defaultdict(list)
    )


@dataclass(slots=True)
class _Batch:
    worker: _Worker
    node: int
    part: Part
    requests: list[_Request]


@dataclass(slots=True)
class _Node:
    queue: list[_Batch] = field(default_factory=list)
    is_busy: bool = False
    busy_us: float = 0.0


class Simulation:
    def __init__(self, fleet: Fleet, costs: Costs) -> None:
        self._fleet = fleet
        self._costs = costs
        self._random = Random("fleet")
        self._weights = zipf_weights(fleet.paths, fleet.s)
        self._most_in_flight = (
            MAX_BATCHES_IN_FLIGHT if fleet.nodes == 1 else MAX_NODE_BATCHES_IN_FLIGHT
        )
        self._gap = 1e6 / fleet.rate
        self._until = 1e6 * max(SECONDS, REQUESTS / (fleet.rate * fleet.workers))
        self._since = WARM * self._until
        self._nodes = [_Node() for _ in range(fleet.nodes)]
        self._order = count()
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._tally: Counter[str] = Counter()
        self._worker_us = 0.0
        self._waits: list[float] = []

    def run(self) -> Outcome:
        """Let requests come for some time, and then answer the last ones."""
        for _ in range(self._fleet.workers):
            worker = _Worker(self._random.expovariate(1) * self._gap)
            self._wake(worker, worker.next_at)
        while self._events:
            now, _, what = heapq.heappop(self._events)
            what(now)
        return self._outcome()

    def _outcome(self) -> Outcome:
        fleet, tally = self._fleet, self._tally
        us = self._until - self._since
        done, batches = max(len(self._waits), 1), max(tally["batches"], 1)
        rate = 1e6 * len(self._waits) / us
        waits = self._waits or [float("inf")]
        return Outcome(
            rate=rate,
            kept_up=rate / (fleet.rate * fleet.workers),
            worker_busy=self._worker_us / (us * fleet.workers),
            nodes_busy=tuple(node.busy_us / us for node in self._nodes),
            batch=tally["wishes"] / batches,
            commands=tally["commands"] / batches,
            node_us=sum(node.busy_us for node in self._nodes) / done,
            saved=1 - tally["reads asked"] / max(tally["reads wished"], 1),
            p50_us=percentile(waits, 0.5),
            p99_us=percentile(waits, 0.99),
            asked=tally["asked"],
            answered=tally["answered"],
        )

    def _at(self, when: float, what: Callable[[float], None]) -> None:
        heapq.heappush(self._events, (when, next(self._order), what))

    def _looked_at(self, start: float, us: float) -> float:
        return max(min(start + us, self._until) - max(start, self._since), 0.0)

    def _wake(self, worker: _Worker, when: float) -> None:
        worker.wakes_at = max(when, worker.free_at)
        self._at(worker.wakes_at, partial(self._turn, worker))

    def _turn(self, worker: _Worker, now: float) -> None:
        """One turn of a worker's event loop: it takes all requests that have come, and then the
        batch leaves."""
        if now != worker.wakes_at:
            # It was woken before that.
            return
        busy = self._take(worker, now)
        for node in [*worker.forming]:
            if worker.in_flight[node] < self._most_in_flight:
                busy += self._leave(worker, node, now + busy)
        worker.free_at = now + busy
        self._worker_us += self._looked_at(now, busy)
        if worker.next_at < self._until:
            self._wake(worker, worker.next_at)

    def _take(self, worker: _Worker, now: float) -> float:
        """µs for reading and answering these requests."""
        fleet, random, tally = self._fleet, self._random, self._tally
        busy = 0.0
        while worker.next_at <= min(now, self._until):
            (kind,) = random.choices(list(fleet.mix), list(fleet.mix.values()))
            (rank,) = random.choices(range(fleet.paths), cum_weights=self._weights)
            busy += self._costs.request[kind]
            wanted = wishes(kind, rank, tally["asked"], fleet.nodes)
            request = _Request(worker.next_at, len(wanted))
            for node, wish in wanted:
                worker.forming[node].append((wish, request))
            worker.next_at += random.expovariate(1) * self._gap
            tally["asked"] += 1
        return busy

    def _leave(self, worker: _Worker, node: int, now: float) -> float:
        """µs for sending the commands after the first."""
        wanted = worker.forming.pop(node)
        worker.in_flight[node] += 1
        part = part_of((wish for wish, _ in wanted), self._fleet.nodes)
        batch = _Batch(worker, node, part, [request for _, request in wanted])
        commands = sum(part.commands.values())
        us = self._costs.send * (commands - 1)
        self._at(now + us + TRIP_US / 2, partial(self._reach, batch))
        if self._since <= now < self._until:
            reads = sum(wish[0] == "read" for wish, _ in wanted)
            self._tally.update({"batches": 1, "wishes": len(wanted), "commands": commands})
            self._tally.update({"reads wished": reads, "reads asked": part.items.get("read", 0)})
        return us

    def _reach(self, batch: _Batch, now: float) -> None:
        node = self._nodes[batch.node]
        node.queue.append(batch)
        if not node.is_busy:
            self._serve(node, now)

    def _serve(self, node: _Node, now: float) -> None:
        """One turn of a node: it takes all that has come."""
        taken, node.queue = node.queue, []
        node.is_busy = True
        us = sum(self._costs.of(batch.part) for batch in taken)
        node.busy_us += self._looked_at(now, us)
        self._at(now + us, partial(self._served, node, taken))

    def _served(self, node: _Node, batches: list[_Batch], now: float) -> None:
        node.is_busy = False
        for batch in batches:
            self._at(now + TRIP_US / 2, partial(self._reply, batch))
        if node.queue:
            self._serve(node, now)

    def _reply(self, batch: _Batch, now: float) -> None:
        worker = batch.worker
        worker.in_flight[batch.node] -= 1
        for request in batch.requests:
            request.missing -= 1
            if request.missing:
                continue
            self._tally["answered"] += 1
            if self._since <= now < self._until:
                self._waits.append(now - request.asked_at)
        if worker.forming:
            self._wake(worker, now)


def simulate(fleet: Fleet, costs: Costs) -> Outcome:
    return Simulation(fleet, costs).run()


def most(fleet: Fleet, costs: Costs) -> tuple[Fleet, Outcome]:
    """The fleet with as many workers as its nodes carry, to a tenth."""
    best = replace(fleet, workers=1)
    outcome = simulate(best, costs)
    for step in (1.6, 1.1):
        while True:
            more = replace(best, workers=max(best.workers + 1, round(best.workers * step)))
            tried = simulate(more, costs)
            if not tried.is_carried:
                break
            best, outcome = more, tried
    return best, outcome

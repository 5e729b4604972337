"""A simulation of many workers before many nodes: who is busy, and where a hot key bites.

Requests are drawn and batches formed as the service forms them: what one turn of a worker's event
loop wants leaves together, four batches at most are under way, each counter is read once a batch,
and placement.py says which node is asked. Only time is made up: it passes by what costs.py and the
bench have measured. Costs are taken to be sums, which a real server's are but roughly; nothing is
lost, nobody hangs up, and the network is a constant.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from random import Random

from service.store.batch import IN_FLIGHT

from .placement import Part, parts, zipf_weights
from .stats import percentile

# There and back between a worker and its node, in one data centre.
TRIP_US = 200.0
# What is looked at, of the simulated time: not the beginning, when queues fill.
SECONDS, WARM = 0.1, 0.3
# The least that is simulated.
REQUESTS = 20_000
# A fleet that does not keep up with that is one worker too many.
P99_US, KEPT_UP = 10_000.0, 0.97
# A site's requests, as the bench mixes them.
SITE = {"view": 0.475, "read": 0.475, "page": 0.045, "submit": 0.005}


@dataclass(frozen=True, slots=True)
class Costs:
    """In µs. Of a node: `part` for what one batch wants of it, read and answered; `call` for each
    command and `item` for each counter, token, version or comment, by kind. Of a worker: `request`
    by kind, `send` for each further command of a batch."""

    part: float
    call: Mapping[str, float]
    item: Mapping[str, float]
    request: Mapping[str, float]
    send: float

    def of(self, part: Part) -> float:
        """Of a node, for its part of a batch."""
        items = sum(self.item[kind] * n for kind, n in part.items.items())
        return self.part + sum(self.call[kind] for kind, _ in part.commands) + items

    def mean(self, mix: Mapping[str, float]) -> float:
        """Of a worker, for a request of this mix."""
        return sum(share * self.request[kind] for kind, share in mix.items())


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
    """`busy` are shares of time, `kept_up` is the share of what was asked for that was answered in
    time: below 1, the fleet falls behind. `batch` is in wishes, of which a paid view has two.
    `saved` is the share of reads that another request of the same batch had asked for. `asked` and
    `answered` are requests from the first to the last."""

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


# A kind, the rank of its path, and when it was asked for.
Wish = tuple[str, int, float]
FIRST = {"view": "add", "read": "read", "page": "version", "submit": "submit"}


@dataclass(slots=True)
class _Worker:
    next_at: float
    free_at: float = 0.0
    wakes_at: float = 0.0
    in_flight: int = 0
    forming: list[Wish] = field(default_factory=list)


@dataclass(slots=True)
class _Batch:
    worker: _Worker
    wishes: list[Wish]
    missing: int


@dataclass(slots=True)
class _Node:
    queue: list[tuple[Part, _Batch]] = field(default_factory=list)
    is_busy: bool = False
    busy_us: float = 0.0


class Simulation:
    def __init__(self, fleet: Fleet, costs: Costs) -> None:
        self._fleet = fleet
        self._costs = costs
        self._random = Random("fleet")
        self._weights = zipf_weights(fleet.paths, fleet.s)
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
        """Requests come for some time, and then the last ones are answered."""
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
        """One turn of a worker's event loop: all that has come, and then the batch leaves."""
        if now != worker.wakes_at:
            # It was woken before that.
            return
        busy = self._take(worker, now)
        if worker.forming and worker.in_flight < IN_FLIGHT:
            busy += self._leave(worker, now + busy)
        worker.free_at = now + busy
        self._worker_us += self._looked_at(now, busy)
        if worker.next_at < self._until:
            self._wake(worker, worker.next_at)

    def _take(self, worker: _Worker, now: float) -> float:
        """µs that reading and answering these requests takes."""
        fleet, random = self._fleet, self._random
        busy = 0.0
        while worker.next_at <= min(now, self._until):
            (kind,) = random.choices(list(fleet.mix), list(fleet.mix.values()))
            (rank,) = random.choices(range(fleet.paths), cum_weights=self._weights)
            busy += self._costs.request[kind]
            wish = "spend" if kind == "view" and fleet.is_tolled else FIRST[kind]
            worker.forming.append((wish, rank, worker.next_at))
            worker.next_at += random.expovariate(1) * self._gap
            self._tally["asked"] += 1
        return busy

    def _leave(self, worker: _Worker, now: float) -> float:
        """µs that sending takes."""
        wishes, worker.forming = worker.forming, []
        worker.in_flight += 1
        asked = parts([wish[:2] for wish in wishes], self._fleet.nodes, self._random)
        batch = _Batch(worker, wishes, len(asked))
        commands = sum(len(part.commands) for part in asked.values())
        us = self._costs.send * (commands - 1)
        for node, part in asked.items():
            self._at(now + us + TRIP_US / 2, partial(self._reach, self._nodes[node], part, batch))
        if self._since <= now < self._until:
            reads = sum(kind == "read" for kind, _, _ in wishes)
            found = sum(part.items["read"] for part in asked.values())
            self._tally.update({"batches": 1, "wishes": len(wishes), "commands": commands})
            self._tally.update({"reads wished": reads, "reads asked": found})
        return us

    def _reach(self, node: _Node, part: Part, batch: _Batch, now: float) -> None:
        node.queue.append((part, batch))
        if not node.is_busy:
            self._serve(node, now)

    def _serve(self, node: _Node, now: float) -> None:
        """One turn of a node: all that has come."""
        taken, node.queue = node.queue, []
        node.is_busy = True
        us = sum(self._costs.of(part) for part, _ in taken)
        node.busy_us += self._looked_at(now, us)
        self._at(now + us, partial(self._served, node, [batch for _, batch in taken]))

    def _served(self, node: _Node, batches: list[_Batch], now: float) -> None:
        node.is_busy = False
        for batch in batches:
            self._at(now + TRIP_US / 2, partial(self._reply, batch))
        if node.queue:
            self._serve(node, now)

    def _reply(self, batch: _Batch, now: float) -> None:
        batch.missing -= 1
        if batch.missing:
            return
        worker = batch.worker
        worker.in_flight -= 1
        for wish, rank, asked_at in batch.wishes:
            if wish == "spend":
                worker.forming.append(("add", rank, asked_at))
                continue
            self._tally["answered"] += 1
            if self._since <= now < self._until:
                self._waits.append(now - asked_at)
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

"""What statistics cost a request: this service with each value of STATISTICS, in turn.

All three run beside each other, each on a Redis of its own, and get the same requests: those of
browsers behind a trusted proxy, since a visitor is an address and a browser.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from redis import Redis

from .. import machine
from ..machine import Cores
from ..measure import Bout, Run
from ..peer import Peer
from ..peers import Environment, commit, footfall
from ..results import Results
from ..run import describe
from ..scenarios import INC, READ1, Durability, Scenario

KEPT = ("off", "views", "visitors")
# While a server warms up it gets all of these, so that visitors are known from the first run on.
REQUESTS = 8_192


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of work, and the values of STATISTICS for which it is measured."""

    scenario: Scenario
    kept: Sequence[str] = KEPT


KNOWN = replace(
    INC, name="inc-known", title="POST article, visitors of today", headers="known", pool=REQUESTS
)
ROWS = (
    Row(KNOWN),
    Row(
        replace(
            KNOWN,
            name="inc-quarter-new",
            title="POST article, one visitor of four is new",
            headers="quarter-new",
        )
    ),
    Row(
        replace(
            READ1,
            name="read1-known",
            title="GET article, visitors of today",
            headers="known",
            pool=REQUESTS,
        ),
        ("off", "visitors"),
    ),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """`seconds` of each run; a run is discarded if others use more than `noise` of our cores."""

    rounds: int
    seconds: float
    noise: float
    durability: Durability


class Stored(NamedTuple):
    """Bytes: what Redis keeps in memory, the file of changes since it was last rewritten, and that
    rewritten one."""

    memory: int
    file: int
    rewritten: int

    @classmethod
    def of(cls, redis: "Redis") -> "Stored":
        facts: dict[str, Any] = redis.info("everything")
        # Buffers are not data.
        buffers = facts["mem_clients_normal"] + facts["mem_aof_buffer"]
        rewritten = facts.get("aof_base_size", 0)
        file = facts.get("aof_current_size", 0) - rewritten
        return cls(facts["used_memory"] - buffers, file, rewritten)

    def a_view(self, before: "Stored", views: int) -> dict[str, float]:
        """What was added for each view. Nothing of the file, if it was rewritten meanwhile."""
        found = {"memory_bytes": round((self.memory - before.memory) / views, 2)}
        if self.rewritten == before.rewritten:
            found["file_bytes"] = round((self.file - before.file) / views, 1)
        return found


def measure(plan: Plan, home: Path) -> Results:
    environment = Environment(home, Cores.choose(), plan.durability)
    results = Results(
        when=date.today().isoformat(),
        commit=commit(),
        machine={**machine.describe(), "fsync_us": machine.fsync_us(home)},
        settings={
            "rounds": plan.rounds,
            "seconds": plan.seconds,
            "noise": plan.noise if plan.noise < 1 else None,
            "durability": plan.durability,
            "cores": str(environment.cores),
            "redis": machine.version_of_redis(),
            "load": machine.version_of("wrk", "-v").partition(" Copy")[0],
        },
    )
    with ExitStack() as stack:
        peers = {kept: stack.enter_context(service(environment, kept)) for kept in KEPT}
        for row in ROWS:
            results.titles[row.scenario.name] = row.scenario.title
            chosen = [peers[kept] for kept in row.kept]
            results.runs += rounds(row.scenario, chosen, plan, environment.cores)
        for peer in peers.values():
            results.memory[f"MB resident, {peer.name}"] = round(peer.resident_mb(), 1)
    return results


@contextmanager
def service(environment: Environment, kept: str) -> Iterator[Peer]:
    start = partial(footfall, name=name_of(kept), title=f"STATISTICS={kept}")
    with start(environment, settings={"STATISTICS": kept}) as peer:
        yield peer


def name_of(kept: str) -> str:
    return f"footfall-{kept}"


def rounds(
    scenario: Scenario, peers: Sequence[Peer], plan: Plan, cores: Cores
) -> Iterator[dict[str, Any]]:
    """All runs, discarded ones too; the services take turns."""
    with ExitStack() as stack:
        bouts = [
            stack.enter_context(Bout(scenario, peer, cores, plan.noise).ready()) for peer in peers
        ]
        for number in range(plan.rounds):
            for bout in bouts:
                yield from turn(bout, number, plan.seconds)


def turn(bout: Bout, number: int, seconds: float) -> list[dict[str, Any]]:
    """The runs of one round; the last one, which counts, says what Redis stored for each view."""
    with closing(Redis.from_url(bout.peer.redis_url)) as redis:
        before = Stored.of(redis)
        runs = bout.run(number, seconds)
        after = Stored.of(redis)
    print(describe(runs[-1], number), flush=True)
    found = [run.as_json() for run in runs]
    if bout.scenario.counted == "views":
        found[-1] |= after.a_view(before, max(sum(map(_answers, runs)), 1))
    return found


def _answers(run: Run) -> int:
    return run.played.accepted

"""`make bench`: this service and its peers in interleaved rounds, into a table and pictures.

    python -m bench.run [--quick | --full | --long] [--only inc,page,…] [--peers footfall,nginx,…]
                        [--also CHECKOUT] [--topic NAME]

Everything is on loopback and stops by itself. --only takes scenarios (scenarios.py) and the parts
`latency`, `variants`, and `paths` and `comments`, which grow.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date
from itertools import cycle
from math import inf
from pathlib import Path

from footfall.loadtest.exchange import MARK, Address, numbered
from footfall.loadtest.ledger import Ledger, Verdict
from footfall.loadtest.load import Load, Row
from footfall.loadtest.workload import LoadRequest

from . import machine, plots, report, wrk
from .growth import Growth
from .machine import Cores, Watch
from .measure import TRIES, Bout, Run, counting, next_number, settled, tally, wait_for_calm
from .peer import Peer
from .peers import KINDS, ROOT, Environment, Kind, Missing, checkout, commit
from .results import DIRECTORY, Results
from .scenarios import FRONT, MAIN, QUICK, SCENARIOS, SWIFT, Durability, Scenario
from .stats import NOISE, is_noisy

PARTS = ("latency", "variants", "paths", "comments")
# Memory is measured after these scenarios, each of which makes a worker keep more: paths, requests,
# finished pages, modules for rendering, connections.
WEIGHED_SCENARIOS = ("inc", "read50", "page", "page-cold", "mixed", "inc@1000")
# Requests a second, open loop.
RATES = {"inc": (1_000, 5_000), "inc-browser": (1_000, 5_000), "page": (200, 1_000)}
VARIANTS = (
    "footfall-tcp",
    "footfall-slow",
    "footfall-everysec",
    "footfall-waitaof",
    "footfall-replica",
    "footfall-2",
)


@dataclass(frozen=True, slots=True)
class Plan:
    scenarios: tuple[Scenario, ...]
    parts: tuple[str, ...]
    peers: tuple[str, ...]
    rounds: int
    seconds: int
    paths: int
    comments: int
    # A run is discarded if other processes use a larger share of our cores.
    noise: float
    # The file of results that is replaced; "" with --quick, which writes none.
    topic: str
    kinds: dict[str, Kind]

    @classmethod
    def parse(cls, words: Sequence[str]) -> "Plan":
        parser = _parser()
        options = parser.parse_args(words)
        try:
            others = dict(map(checkout, options.also))
        except ValueError as error:
            parser.error(str(error))
        only = [word for word in options.only.split(",") if word]
        unknown = set(only) - {scenario.name for scenario in SCENARIOS} - set(PARTS)
        unknown |= {word for word in options.peers.split(",") if word} - KINDS.keys()
        if unknown:
            parser.error(f"there is no {', '.join(sorted(unknown))}")
        if not only:
            only = list(QUICK if options.quick else (*MAIN, "paths"))
            if options.full or options.long:
                only = [s.name for s in SCENARIOS if options.long or not s.is_long] + list(PARTS)
        chosen = tuple(word for word in options.peers.split(",") if word)
        if options.quick and not chosen:
            chosen = FRONT
        chosen = chosen or tuple(name for name, kind in KINDS.items() if not kind.is_variant)
        return cls(
            scenarios=tuple(scenario for scenario in SCENARIOS if scenario.name in only),
            parts=tuple(part for part in PARTS if part in only),
            peers=(*chosen[:1], *others, *chosen[1:]),
            rounds=options.rounds or (3 if options.quick or options.full or options.long else 2),
            seconds=options.seconds,
            paths=10_000_000 if options.long else 1_000_000,
            comments=1_000_000 if options.long else 100_000,
            noise=inf if options.noisy else NOISE,
            topic=_topic(options),
            kinds=KINDS | others,
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--quick", action="store_true", help="counters beside nginx, five minutes, no files"
    )
    parser.add_argument(
        "--also",
        type=Path,
        action="append",
        default=[],
        metavar="CHECKOUT",
        help="another checkout of this service, in turn with this one",
    )
    parser.add_argument(
        "--noisy", action="store_true", help="keep what others spoil: CPU time is still right"
    )
    parser.add_argument("--full", action="store_true", help="every row and part: half an hour")
    parser.add_argument(
        "--long", action="store_true", help="and a million comments, ten million paths"
    )
    parser.add_argument("--only", default="", help="scenarios and parts, between commas")
    parser.add_argument("--peers", default="", help="peers, between commas")
    parser.add_argument(
        "--topic", default="", help="results/TOPIC.json is written; main, full, long or other"
    )
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=2, help="of each run")
    return parser


def _topic(options: argparse.Namespace) -> str:
    """The default topic; `main`, of which the README has figures, is for a run without choices."""
    if options.quick:
        return ""
    if options.topic:
        return str(options.topic)
    if options.only or options.peers or options.also:
        return "other"
    return "long" if options.long else "full" if options.full else "main"


class Bench:
    def __init__(self, plan: Plan, home: Path) -> None:
        self._plan = plan
        self._environment = Environment(home, Cores.choose())
        self._runs: list[Run] = []
        self.results = Results(
            when=date.today().isoformat(),
            commit=commit(),
            machine={**machine.describe(), "fsync_us": machine.fsync_us(home)},
            settings={
                "rounds": plan.rounds,
                "seconds": plan.seconds,
                "noise": None if plan.noise == inf else plan.noise,
                "cores": str(self._environment.cores),
                "redis": machine.version_of_redis(),
                "load": machine.version_of("wrk", "-v").partition(" Copy")[0],
            },
        )

    def run(self) -> None:
        self._throughput()
        if "variants" in self._plan.parts:
            self._variants()
        if {"paths", "comments"} & set(self._plan.parts):
            self._growth()
        self.results.runs = [run.as_json() for run in self._runs]
        log(", ".join(f"{n} {kind}" for kind, n in tally(self._runs).items()))

    def _throughput(self) -> None:
        with ExitStack() as stack:
            scenarios = self._at("always")
            peers = self._start(stack, self._names(scenarios), self._environment)
            self._weigh(peers, "at the start")
            for scenario in scenarios:
                self._rounds(scenario, [p for p in peers if scenario.is_for(p.name)])
                if scenario.name in WEIGHED_SCENARIOS:
                    self._weigh(peers, f"after “{scenario.title}”")
            self._weigh(peers, "at the end")
            if "latency" in self._plan.parts:
                self._latency([peer for peer in peers if peer.name in SWIFT])
        self._less_durable("everysec")
        self._less_durable("none")

    def _less_durable(self, durability: Durability) -> None:
        with ExitStack() as stack:
            scenarios = self._at(durability)
            environment = replace(self._environment, durability=durability)
            peers = self._start(stack, self._names(scenarios), environment)
            for scenario in scenarios:
                self._rounds(scenario, [p for p in peers if scenario.is_for(p.name)])

    def _at(self, durability: Durability) -> list[Scenario]:
        return [scenario for scenario in self._plan.scenarios if scenario.durability == durability]

    def _names(self, scenarios: Sequence[Scenario]) -> list[str]:
        """Those of the chosen peers that these scenarios are for."""
        return [
            name
            for name in self._plan.peers
            if any(scenario.is_for(name) for scenario in scenarios)
        ]

    def _weigh(self, peers: Sequence[Peer], when: str) -> None:
        for peer in peers:
            named = f"MB resident, {peer.name}, {when}"
            self.results.memory[named] = round(peer.resident_mb(), 1)

    def _start(
        self, stack: ExitStack, names: Sequence[str], environment: Environment
    ) -> list[Peer]:
        peers = []
        for name in names:
            try:
                peer = stack.enter_context(self._plan.kinds[name].start(environment))
            except Missing as missing:
                self.results.missing[name] = str(missing)
                log(f"missing: {name}: {missing}")
                continue
            self.results.versions[name] = f"{self._plan.kinds[name].title} {peer.version}"
            peers.append(peer)
        return peers

    def _rounds(self, scenario: Scenario, peers: Sequence[Peer]) -> None:
        """Peers take turns, so that the runs of one round are seconds apart."""
        self.results.titles[scenario.name] = scenario.title
        ops = scenario.ops()
        with ExitStack() as stack:
            bouts = []
            for peer in peers:
                if peer.can(ops, scenario.needs):
                    cores = self._environment.cores
                    bout = Bout(scenario, peer, cores, self._plan.noise)
                    bouts.append(stack.enter_context(bout.ready()))
            for round in range(self._plan.rounds):
                for bout in bouts:
                    runs = bout.run(round, self._plan.seconds)
                    self._runs += runs
                    log(describe(runs[-1], round))

    def _variants(self) -> None:
        """This service with other settings than its defaults."""
        with ExitStack() as stack:
            peers = self._start(stack, ["footfall", *VARIANTS], self._environment)
            for scenario in SCENARIOS:
                if scenario.name == "inc":
                    other = replace(scenario, name="inc-variants", title=f"{scenario.title}, again")
                    self._rounds(other, peers)

    def _latency(self, peers: Sequence[Peer]) -> None:
        """Latencies at rates that all peers can sustain."""
        machine.pin_self(self._environment.cores.load)
        for name, rates in RATES.items():
            (scenario,) = (each for each in SCENARIOS if each.name == name)
            able = [peer for peer in peers if peer.can(scenario.ops(), scenario.needs)]
            for peer in able:
                for need in sorted(scenario.needs):
                    peer.need(need)
            for rate in rates:
                for peer in able:
                    self._at_rate(scenario, peer, rate)
        machine.pin_self(self._environment.cores.all)

    def _at_rate(self, scenario: Scenario, peer: Peer, rate: int) -> None:
        """One row; a run that other processes have disturbed is repeated, at last marked so."""
        templates = peer.templates(scenario.ops(), scenario.headers)
        count = counting(scenario, peer)
        for _ in range(TRIES):
            before = settled(count)
            wait_for_calm(self._environment.cores)
            watch = Watch(self._environment.cores)
            outcome = at_rate(peer.url, templates, rate, self._plan.seconds * 2)
            foreign = watch.foreign()
            if not is_noisy(foreign, self._plan.noise):
                break
        verdict = ""
        if scenario.counted == "views":
            unknown = outcome.sent - outcome.accepted
            verdict = str(Verdict(outcome.accepted, settled(count) - before, unknown))
        latency = outcome.latency
        row = {
            "scenario": scenario.name,
            "peer": peer.name,
            "rate": rate,
            "p50": latency.at(0.5),
            "p99": latency.at(0.99),
            "p999": latency.at(0.999),
            "max": latency.greatest,
            "failed": outcome.sent - outcome.accepted,
            "verdict": verdict,
            "is_discarded": is_noisy(foreign, self._plan.noise),
        }
        self.results.latency.append(row)
        log(
            f"{scenario.name:14} {peer.name:13} at {rate:6,}/s  p50 {latency.at(0.5):,} µs  "
            f"p99 {latency.at(0.99):,} µs  {verdict.partition(' (')[0]}"
            + (f"  others used {foreign:.0%}" if row["is_discarded"] else "")
        )

    def _growth(self) -> None:
        with ExitStack() as stack:
            grown = replace(self._environment, home=self._environment.home / "grown")
            peers = self._start(stack, ["footfall"], grown)
            if not peers:
                return
            growth = Growth(
                peers[0],
                self._environment.cores,
                seconds=self._plan.seconds,
                noise=self._plan.noise,
                log=log,
            )
            if "paths" in self._plan.parts:
                growth.of_paths(self._plan.paths)
            if "comments" in self._plan.parts:
                growth.of_comments(self._plan.comments)
            self.results.growth = growth.rows
            self.results.memory |= growth.memory


def at_rate(url: str, templates: Sequence[bytes], rate: float, seconds: float) -> Row:
    """Send these in turn, so many per second, over 64 connections."""
    requests = (
        LoadRequest(numbered(template, n) if MARK in template else template)
        for n, template in enumerate(cycle(templates), next_number())
    )
    row = Row("", rate)
    load = Load(row, requests, Address.parse(url), Ledger(()), connections=64, retry_for=seconds)
    return load.run(seconds)


def describe(run: Run, round: int) -> str:
    if run.is_discarded:
        return f"{run.scenario:14} {run.peer:13} round {round + 1}  others used {run.foreign:.0%}"
    return (
        f"{run.scenario:14} {run.peer:13} round {round + 1}  {run.played.rate:9,.0f}/s  "
        f"p99 {run.played.p99_us / 1000:7.2f} ms  server {run.user_us:6.1f} + "
        f"{run.system_us:5.1f} µs  Redis {run.redis_us:6.2f} µs  {run.verdict.partition(' (')[0]}"
        + (f"  {run.played.errors} errors" if run.played.errors else "")
        + ("" if run.stale is None else f"  stale {run.stale}")
    )


def log(line: str) -> None:
    print(line, flush=True)


def main(words: Sequence[str]) -> int:
    plan = Plan.parse(words)
    if not machine.is_linux():
        log("the bench reads /proc and so runs on Linux only")
        return 2
    if not wrk.program():
        log("there is no wrk; bench/install.sh installs it")
        return 2
    machine.allow_many_files()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ffb") as name:
        # PostgreSQL's own user needs access, too.
        Path(name).chmod(0o755)
        bench = Bench(plan, Path(name))
        bench.run()
    results = bench.results
    if not plan.topic:
        log(report.markdown(results))
        return 0
    file = DIRECTORY / f"{plan.topic}.json"
    table = DIRECTORY / f"{results.name}.md"
    results.write(file)
    table.write_text(report.markdown(results))
    pictures = plots.draw(results, ROOT / "docs" / "pictures")
    took = time.monotonic() - start
    log(f"{took:.0f} s; results in {file.relative_to(ROOT)} and {table.name}")
    for picture in pictures:
        log(f"a picture in {picture.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

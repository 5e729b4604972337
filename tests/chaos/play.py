"""Plays a fault under load, and checks the same things after each of them."""

import json
import math
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from footfall.loadtest.measurement import Plan, Report

from ..support.checking import Checking, checking
from .faults import Fault
from .moderators import Logged, Moderators
from .scene import Scene, staged
from .told import hurry
from .visitor import Visit
from .writer import Writer

# Longer than the longest run of all.
FOR_EVER = 3600
# How long a web server may take to hear of everything, once all is well.
TELLING_SECONDS = 60
# No living worker takes so long to tell a web server of a comment, however busy the machine is.
CARRIED_OUT_MS = 15_000


@dataclass(frozen=True)
class Force:
    """How often, how long and under which load; `timeout` is Redis's."""

    rounds: int = 1
    seconds: float = 1.0
    timeout: float = 0.5
    connections: int = 16
    rate: float = 300
    # How long services may take to follow what was left behind, once all is well.
    following: float = 20
    # How many times as long as before clients of other nodes may wait.
    slower: float = math.inf


@dataclass
class Outcome:
    fault: Fault
    report: Report
    writer: Writer
    # From the end of the fault to the next increment that is accepted, for each round.
    recoveries: list[float] = field(default_factory=list)
    moderators: Moderators | None = None
    # Of clients of other nodes: before the fault, and during it.
    visits: list[tuple[Visit, Visit]] = field(default_factory=list)
    # How often the web server was told of each comment, if there is one.
    told: Counter[str] | None = None
    problems: list[str] = field(default_factory=list)


def play(fault: Fault, directory: Path, force: Force) -> Outcome:
    plan = Plan(FOR_EVER, force.connections, paths=20, rate=force.rate, retry_for=60)
    with staged(fault.deployment, directory, seconds=force.seconds, timeout=force.timeout) as scene:
        writer, moderators = Writer(scene.url), Moderators(scene.url, fault.deployment.moderators)
        moderators.settle()
        with checking(scene.url, plan, scene.counted(plan.paths)) as running:
            with writer.writing(), moderators.moderating():
                recoveries = [
                    _round(fault, scene, running, writer, moderators) for _ in range(force.rounds)
                ]
            report = running.stop()
        outcome = Outcome(fault, report, writer, recoveries, moderators, scene.visits)
        outcome.problems += _problems(outcome)
        outcome.problems += _problems_beside(outcome, force)
        outcome.problems += _check(scene, force.following)
        outcome.problems += moderators.problems(_logged(scene))
        if scene.told is not None:
            outcome.problems += _problems_of_telling(scene, outcome)
    return outcome


def _round(
    fault: Fault, scene: Scene, running: Checking, writer: Writer, moderators: Moderators
) -> float:
    running.wait_for_more()
    writer.wait_for_more()
    moderators.wait_for_more()
    fault.act(scene)
    over = time.monotonic()
    running.wait_for_more(1)
    recovery = time.monotonic() - over
    running.wait_for_more()
    writer.wait_for_more()
    moderators.wait_for_more()
    return recovery


def _problems(outcome: Outcome) -> Iterator[str]:
    report, writer = outcome.report, outcome.writer
    if not report.ledger.is_exact or report.gave_up:
        yield "\n".join(report.lines())
    if hung := report.hung + writer.hung:
        yield f"{hung} requests had no answer in time"
    if (worst := max(outcome.recoveries)) > outcome.fault.seconds:
        yield f"recovered after {worst:.1f} seconds, not {outcome.fault.seconds:g}"
    yield from writer.problems()


def _problems_beside(outcome: Outcome, force: Force) -> Iterator[str]:
    for before, meanwhile in outcome.visits:
        if not before.took or not meanwhile.took:
            yield "nobody asked for what is in no trouble"
            continue
        yield from before.failures + meanwhile.failures
        if meanwhile.p99_ms > force.slower * before.p99_ms:
            yield f"others waited for {meanwhile.p99_ms:.1f} ms instead of {before.p99_ms:.1f}"


def _problems_of_telling(scene: Scene, outcome: Outcome) -> Iterator[str]:
    """The web server hears of each comment; of some twice only where a process was killed."""
    accepted, unknown = outcome.writer.accepted.keys(), outcome.writer.unknown

    deadline = time.monotonic() + TELLING_SECONDS
    while missing := accepted - scene.listener.times().keys():
        if time.monotonic() > deadline:
            yield f"nobody was told of {len(missing)} comments"
            break
        with scene.client() as client:
            hurry(client, least_ms=0 if outcome.fault.repeats else CARRIED_OUT_MS)
        time.sleep(TELLING_SECONDS / 60)
    outcome.told = scene.listener.times()
    for text, times in outcome.told.items():
        if text not in accepted and text not in unknown:
            yield f"{text} was told, and is not a comment"
        if times > 1 and not outcome.fault.repeats:
            yield f"{text} was told {times} times"


def _check(scene: Scene, seconds: float) -> list[str]:
    """What `footfall check` says, without any repair. The site may follow a moment late."""
    deadline = time.monotonic() + seconds
    while (lines := _checked(scene)) and time.monotonic() < deadline:
        pass
    return lines


def _checked(scene: Scene) -> list[str]:
    code, output = scene.service.ask("check")
    return output.splitlines()[:-1] if code else []


def _logged(scene: Scene) -> Counter[Logged]:
    """What the log of moderation has, by what was done and to which comment."""
    _, output = scene.service.ask("log", "--json", "--most", "10000")
    entries = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return Counter((entry["did"], entry["id"]) for entry in entries)

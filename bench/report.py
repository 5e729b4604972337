"""Results as Markdown: one row a peer and kind of work, and what was to be reached."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .results import OURS, Results
from .stats import Spread


@dataclass(frozen=True, slots=True)
class Goal:
    """Ours through the peer's must be at least `least`; for `what` other than rates, at most."""

    scenario: str
    peer: str
    bound: float
    what: str = "rate"

    def is_met(self, ratio: float) -> bool:
        return ratio >= self.bound if self.what == "rate" else ratio <= self.bound


GOALS = (
    Goal("inc", "nginx", 1.7),
    Goal("inc", "webdis", 1.4),
    Goal("inc", "plain", 30),
    Goal("inc", "waline", 100),
    Goal("inc-browser", "nginx", 1.25),
    Goal("read1", "nginx", 1.6),
    Goal("read1-browser", "nginx", 1.25),
    Goal("read50", "nginx", 1.5),
    Goal("read50-front", "nginx", 1.5),
    Goal("page", "nginx-joined", 12),
    Goal("page", "waline", 1000),
    Goal("page-cold", "nginx-joined", 1.5),
    Goal("page-live", "nginx-joined", 8),
    Goal("inc", "nginx", 1, "p99_us"),
    Goal("read1", "nginx", 1, "p99_us"),
    Goal("inc@1", "nginx", 1.3, "p50_us"),
)


DURABILITY = {"always": "", "everysec": ", on disk within a second", "none": ", never on disk"}


def markdown(results: Results) -> str:
    return "\n".join(_lines(results)) + "\n"


def _lines(results: Results) -> Iterator[str]:
    machine, settings = results.machine, results.settings
    yield f"# Bench, {results.when}, {results.commit}"
    yield ""
    yield (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, "
        f"Python {machine['python']}; {settings['cores']}; an fsync takes {machine['fsync_us']} µs."
    )
    yield (
        f"{settings['rounds']} interleaved rounds of {settings['seconds']} s; medians (least to "
        f"greatest); ratios round by round. {_discarded(results)}"
    )
    yield ""
    yield "| peer | version |"
    yield "|---|---|"
    for name, version in results.versions.items():
        yield f"| {name} | {version} |"
    for name, reason in results.missing.items():
        yield f"| {name} | **missing**: {reason} |"
    yield ""
    yield from _throughput(results)
    yield from _goals(results)
    yield from _latency(results.latency)
    yield from _growth(results)


def _discarded(results: Results) -> str:
    n = sum(run["is_discarded"] for run in results.runs)
    threshold = results.settings["noise"]
    return (
        f"{n} of {len(results.runs)} runs were discarded and repeated, because others used more "
        f"than {threshold:.0%} of the cores."
    )


def _throughput(results: Results) -> Iterator[str]:
    yield "## Throughput, closed loop"
    yield ""
    yield "| work | peer | requests/s | ours ÷ theirs | p50 ms | p99 ms | server µs | Redis µs | counts |"  # noqa: E501
    yield "|---|---|---|---|---|---|---|---|---|"
    for scenario, durability in results.scenarios():
        work = results.titles.get(scenario, scenario)
        work += DURABILITY[durability]
        for peer in results.peers(scenario, durability):
            yield f"| {work} | {peer} | {_row(results, scenario, peer, durability)} |"
            work = ""
    yield ""


def _row(results: Results, scenario: str, peer: str, durability: str) -> str:
    kept = results.kept(scenario, peer, durability)
    if not kept:
        return "every run was spoiled by others" + " |" * 6
    spreads = [
        results.spread(scenario, peer, what, durability)
        for what in ("rate", "p50_us", "p99_us", "server_us", "redis_us")
    ]
    rate, p50, p99, server, redis = (each or Spread(0, 0, 0, 0) for each in spreads)
    ratio = None if peer == OURS else results.ratio(scenario, peer, durability=durability)
    cells = [
        span(rate, ",.0f"),
        span(ratio, ".2f") if ratio else "",
        f"{p50.median / 1000:.2f}",
        f"{p99.median / 1000:.2f}",
        f"{server.median:.1f}",
        f"{redis.median:.2f}",
        _counts(kept),
    ]
    return " | ".join(cells)


def span(spread: Spread, form: str) -> str:
    if spread.n == 1:
        return f"{spread.median:{form}}"
    return f"{spread.median:{form}} ({spread.least:{form}} to {spread.greatest:{form}})"


def _counts(kept: list[dict[str, Any]]) -> str:
    said = []
    verdicts = [run for run in kept if run["is_exact"] is not None]
    if verdicts:
        wrong = [run["verdict"] for run in verdicts if not run["is_exact"]]
        said.append(f"**{wrong[0].partition(' (')[0]}**" if wrong else "exact")
    looked = [run["stale"] for run in kept if run["stale"] is not None]
    if looked:
        said.append(f"**stale {sum(looked)} times**" if any(looked) else "never stale")
    errors = sum(run["refused"] + run["broken"] for run in kept)
    if errors:
        said.append(f"{errors:,} errors")
    return ", ".join(said)


def _goals(results: Results) -> Iterator[str]:
    yield "## What was to be reached"
    yield ""
    yield "| work | against | ratio | goal | |"
    yield "|---|---|---|---|---|"
    for goal in GOALS:
        ratio = results.ratio(goal.scenario, goal.peer, what=goal.what)
        sign = "≥" if goal.what == "rate" else "≤"
        name = goal.scenario if goal.what == "rate" else f"{goal.scenario}, {goal.what[:3]}"
        said = span(ratio, ".2f") if ratio else "not measured"
        mark = "" if not ratio else "met" if goal.is_met(ratio.median) else "**not met**"
        yield f"| {name} | {goal.peer} | {said} | {sign} {goal.bound:g} | {mark} |"
    yield from _own_goals(results)
    yield ""


def _own_goals(results: Results) -> Iterator[str]:
    """Goals that compare this service with itself."""
    for a, b, bound in (("inc@256", "inc", 1.0), ("deep-last", "deep-first", 1 / 1.5),
                        ("deeper-last", "deeper-first", 1 / 1.5)):  # fmt: skip
        ours, base = results.spread(a, OURS), results.spread(b, OURS)
        if ours and base:
            ratio = ours.median / base.median
            mark = "met" if ratio >= bound else "**not met**"
            yield f"| {a} | itself, {b} | {ratio:.2f} | ≥ {bound:.2g} | {mark} |"


def _latency(rows: list[dict[str, Any]]) -> Iterator[str]:
    if not rows:
        return
    yield "## Latency at fixed rates, open loop"
    yield ""
    yield "| work | peer | requests/s | p50 ms | p99 ms | p99.9 ms | max ms | failed | counts |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        times = " | ".join(f"{row[name] / 1000:.2f}" for name in ("p50", "p99", "p999", "max"))
        if row["is_discarded"]:
            times = "spoiled by others" + " |" * 3
        yield (
            f"| {row['scenario']} | {row['peer']} | {row['rate']:,} | {times} | "
            f"{row['failed']:,} | {row['verdict'].partition(' (')[0]} |"
        )
    yield ""


def _growth(results: Results) -> Iterator[str]:
    if results.growth:
        yield "## Growth: what an operation costs as the data grows"
        yield ""
        yield "| of | size | operation | requests/s | server µs | Redis µs |"
        yield "|---|---|---|---|---|---|"
        for row in results.growth:
            yield (
                f"| {row['of']} | {row['size']:,} | {row['operation']} | {row['rate']:,.0f} | "
                f"{row['server_us']:.1f} | {row['redis_us']:.2f} |"
            )
        yield ""
    if results.memory:
        yield "## Memory"
        yield ""
        yield "| what | |"
        yield "|---|---|"
        for name, value in results.memory.items():
            yield f"| {name} | {value:g} |"
        yield ""

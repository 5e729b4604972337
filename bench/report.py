"""Results as Markdown: one row a peer and kind of work, and the goals."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .results import LEAST, OURS, Results
from .stats import Spread


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of a row for `what`: our figure divided by that of each of these peers, or ours
    alone.

    Requests a second should be at least the bound; of everything else less is better.
    """

    scenario: str
    bound: float
    against: tuple[str, ...] = ()
    what: str = "rate"

    def found(self, results: Results) -> Spread | None:
        """Of several peers, the figure of the best one; None if nobody measured it."""
        if not self.against:
            return results.spread(self.scenario, OURS, self.what)
        ratios = (results.ratio(self.scenario, peer, what=self.what) for peer in self.against)
        worst_first = sorted((ratio for ratio in ratios if ratio), key=lambda each: each.median)
        if not worst_first:
            return None
        return worst_first[0 if self.what == "rate" else -1]

    def is_met(self, value: float) -> bool:
        return value >= self.bound if self.what == "rate" else value <= self.bound


NGINX = ("nginx",)
WEBDIS = ("webdis",)
NGINX_PAGES = ("nginx", "nginx-joined")
GOALS = (
    Goal("inc-everysec", 1.8, NGINX),
    Goal("inc-browser-everysec", 1.6, NGINX),
    Goal("inc-proxied-everysec", 1.6, NGINX),
    Goal("read1", 1.9, NGINX),
    Goal("read1-browser", 1.65, NGINX),
    Goal("read1-proxied", 1.6, NGINX),
    Goal("inc-everysec", 1.3, WEBDIS),
    Goal("read1", 1.4, WEBDIS),
    Goal("read50", 1.0, NGINX),
    Goal("read50-front", 1.6, NGINX),
    Goal("read50-same", 1.6, NGINX),
    Goal("page", 10, NGINX_PAGES),
    Goal("page-cold", 1.0, NGINX_PAGES),
    Goal("page-live", 8, NGINX_PAGES),
    Goal("inc", 30, ("plain",)),
    Goal("inc", 100, ("waline", "waline-pg")),
    Goal("page", 1000, ("waline", "waline-pg")),
    Goal("inc@1", 1.0, NGINX, "p50_us"),
    Goal("read1@1", 1.0, NGINX, "p50_us"),
    Goal("inc-everysec", 1.0, NGINX, "p99_us"),
    Goal("inc-browser-everysec", 1.0, NGINX, "p99_us"),
    Goal("inc-proxied-everysec", 1.0, NGINX, "p99_us"),
    Goal("read1", 1.0, NGINX, "p99_us"),
    Goal("read1-browser", 1.0, NGINX, "p99_us"),
    Goal("read1-proxied", 1.0, NGINX, "p99_us"),
    Goal("inc@1000", 0, what="errors"),
    Goal("read1@1000", 0, what="errors"),
    Goal("inc-everysec", 6.5, what="user_us"),
    Goal("inc-browser-everysec", 9.5, what="user_us"),
    Goal("inc-proxied-everysec", 11, what="user_us"),
)
# Megabytes resident, after everything that was run.
MEMORY_GOAL = 90

MEASURES = {
    "rate": "requests/s",
    "p50_us": "p50",
    "p99_us": "p99",
    "errors": "errors",
    "user_us": "µs in its own code",
}
# The time in a server's own code, divided by that of the least that Python needs.
TO_LEAST = "user ÷ least"
COLUMNS = (
    "requests/s",
    "ours ÷ theirs",
    "p50 ms",
    "p99 ms",
    "server µs",
    "its own code",
    TO_LEAST,
    "its kernel",
    "server busy",
    "Redis µs",
    "counts",
)


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
    if results.runs:
        yield from _throughput(results)
        yield from _goals(results)
    yield from _latency(results.latency)
    yield from _growth(results)


def _discarded(results: Results) -> str:
    n = sum(run["is_discarded"] for run in results.runs)
    threshold = results.settings["noise"]
    if threshold is None:
        return "**Others used these cores, too: read ratios, and nothing else.**"
    return (
        f"{n} of {len(results.runs)} runs were discarded and repeated, because others used more "
        f"than {threshold:.0%} of the cores."
    )


def _throughput(results: Results) -> Iterator[str]:
    columns = [column for column in COLUMNS if column != TO_LEAST or results.has_least]
    yield "## Throughput, closed loop"
    yield ""
    yield f"| work | peer | {' | '.join(columns)} |"
    yield "|---" * (2 + len(columns)) + "|"
    for scenario in results.scenarios():
        work = results.titles.get(scenario, scenario)
        for peer in results.peers(scenario):
            found = _figures(results, scenario, peer)
            yield f"| {work} | {peer} | {' | '.join(found.get(column, '') for column in columns)} |"
            work = ""
    yield ""


def _figures(results: Results, scenario: str, peer: str) -> dict[str, str]:
    """By column."""
    kept = results.kept(scenario, peer)
    if not kept:
        return {"requests/s": "every run was spoiled by others"}
    spreads = [
        results.spread(scenario, peer, what)
        for what in ("rate", "p50_us", "p99_us", "server_us", "user_us", "system_us", "redis_us")
    ]
    rate, p50, p99, *cpu, redis = (spread or Spread(0, 0, 0, 0) for spread in spreads)
    server, own, kernel = (each.median for each in cpu)
    ratio = None if peer == OURS else results.ratio(scenario, peer)
    to_least = None if peer == LEAST else results.user_to_least(scenario, peer)
    return {
        "requests/s": span(rate, ",.0f"),
        "ours ÷ theirs": span(ratio, ".2f") if ratio else "",
        "p50 ms": f"{p50.median / 1000:.2f}",
        "p99 ms": f"{p99.median / 1000:.2f}",
        "server µs": f"{server:.1f}",
        "its own code": f"{own:.1f}",
        TO_LEAST: span(to_least, ".2f") if to_least else "",
        "its kernel": f"{kernel:.1f}",
        "server busy": f"{rate.median * server / 1e6:.0%}",
        "Redis µs": f"{redis.median:.2f}",
        "counts": _counts(kept),
    }


def span(spread: Spread, form: str) -> str:
    if spread.n == 1:
        return f"{spread.median:{form}}"
    return f"{spread.median:{form}} ({spread.least:{form}} to {spread.greatest:{form}})"


def _counts(kept: list[dict[str, Any]]) -> str:
    words = []
    verdicts = [run for run in kept if run["is_exact"] is not None]
    if verdicts:
        wrong = [run["verdict"] for run in verdicts if not run["is_exact"]]
        words.append(f"**{wrong[0].partition(' (')[0]}**" if wrong else "exact")
    stale = [run["stale"] for run in kept if run["stale"] is not None]
    if stale:
        words.append(f"**stale {sum(stale)} times**" if any(stale) else "never stale")
    errors = sum(run["refused"] + run["broken"] for run in kept)
    if errors:
        words.append(f"{errors:,} errors")
    return ", ".join(words)


def _goals(results: Results) -> Iterator[str]:
    """The goals of the rows that were run."""
    yield "## What was to be reached"
    yield ""
    yield "| work | of what | against | reached | goal | |"
    yield "|---|---|---|---|---|---|"
    for goal in GOALS:
        if goal.scenario not in results.titles:
            continue
        found = goal.found(results)
        if not found and not results.missing.keys() & set(goal.against):
            continue
        sign = "≥" if goal.what == "rate" else "≤"
        against = ", ".join(goal.against) or "itself"
        words = span(found, ".2f" if goal.against else ".3g") if found else "not measured"
        mark = _mark(goal.is_met(found.median)) if found else ""
        yield (
            f"| {goal.scenario} | {MEASURES[goal.what]} | {against} | {words} "
            f"| {sign} {goal.bound:g} | {mark} |"
        )
    yield from _own_goals(results)
    yield ""


def _mark(is_met: bool) -> str:
    return "met" if is_met else "**not met**"


def _own_goals(results: Results) -> Iterator[str]:
    """Goals that compare this service with itself, and its memory."""
    for a, b, bound in (
        ("inc@256", "inc", 1.0),
        ("deep-last", "deep-first", 1 / 1.5),
        ("deeper-last", "deeper-first", 1 / 1.5),
    ):
        ours, base = results.spread(a, OURS), results.spread(b, OURS)
        if ours and base:
            ratio = ours.median / base.median
            mark = _mark(ratio >= bound)
            yield f"| {a} | requests/s | itself, {b} | {ratio:.2f} | ≥ {bound:.2g} | {mark} |"
    resident = results.memory.get(f"MB resident, {OURS}, at the end")
    if resident:
        mark = _mark(resident <= MEMORY_GOAL)
        yield f"| all | MB resident | itself | {resident:g} | ≤ {MEMORY_GOAL} | {mark} |"


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

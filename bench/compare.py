"""Compares two files of results as a table; exit 1 if the newer one is much worse.

    python -m bench.compare OLD.json NEW.json [--band 0.25]

If both runs had nginx beside us, the ratios to nginx are compared, which do not depend on how fast
the machine was; otherwise CPU time per request, which other processes disturb less than throughput.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .results import OURS, Results

YARDSTICK = "nginx"
BAND = 0.25


@dataclass(frozen=True, slots=True)
class Row:
    """`change` is how many times better the new one is; below 1 it is worse."""

    scenario: str
    measure: str
    old: float
    new: float
    change: float


def rows(old: Results, new: Results) -> Iterator[Row]:
    shared = set(old.scenarios()) & set(new.scenarios())
    for scenario in new.scenarios():
        if scenario not in shared:
            continue
        ratios = [each.ratio(scenario, YARDSTICK) for each in (old, new)]
        if ratios[0] and ratios[1]:
            before, after = ratios[0].median, ratios[1].median
            name = f"ratio to {YARDSTICK}"
            yield Row(scenario, name, before, after, after / before)
            continue
        costs = [each.spread(scenario, OURS, "server_us") for each in (old, new)]
        if costs[0] and costs[1] and costs[1].median:
            before, after = costs[0].median, costs[1].median
            yield Row(scenario, "server µs", before, after, before / after)


def inexact(results: Results) -> list[str]:
    """Runs of ours that counted wrongly, which is worse than any slowness."""
    return [
        f"{run['scenario']}: {run['verdict']}"
        for run in results.runs
        if run["peer"].startswith(OURS) and run["is_exact"] is False
    ]


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.compare")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--band", type=float, default=BAND, help="loss that is still let pass")
    options = parser.parse_args(words)
    new = Results.read(options.new)
    is_worse = False
    print("| work | measure | old | new | times as good | |")
    print("|---|---|---|---|---|---|")
    for row in rows(Results.read(options.old), new):
        is_bad = row.change < 1 - options.band
        is_worse = is_worse or is_bad
        mark = "**worse**" if is_bad else ""
        print(
            f"| {row.scenario} | {row.measure} | {row.old:.4g} | {row.new:.4g} "
            f"| {row.change:.2f} | {mark} |"
        )
    wrong = inexact(new)
    for line in wrong:
        print(f"inexact: {line}")
    return 1 if is_worse or wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

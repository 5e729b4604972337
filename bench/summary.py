"""The README's table of a file of results.

    python -m bench.summary FILE.json

A test compares the README with it, so the table says what was measured.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from .results import OURS, Results
from .scenarios import MAIN

# Whom a column is about; of several the one that did best.
COLUMNS = {
    "nginx + Lua": ("nginx", "nginx-joined"),
    "webdis": ("webdis",),
    "plain Starlette": ("plain",),
    "Waline": ("waline", "waline-pg"),
}


def table(results: Results) -> Iterator[str]:
    yield f"| Work | Requests/s | p99 ms | CPU µs | {' | '.join(f'÷ {name}' for name in COLUMNS)} |"
    yield "|---|---|---|---|" + "---|" * len(COLUMNS)
    for scenario in MAIN:
        spreads = [results.spread(scenario, OURS, what) for what in ("rate", "p99_us", "server_us")]
        if None in spreads:
            continue
        rate, p99, cpu = (spread.median if spread else 0.0 for spread in spreads)
        ratios = " | ".join(_ratio(results, scenario, peers) for peers in COLUMNS.values())
        title = results.titles.get(scenario, scenario)
        yield f"| {title} | {rate:,.0f} | {p99 / 1000:.1f} | {cpu:.0f} | {ratios} |"


def _ratio(results: Results, scenario: str, peers: tuple[str, ...]) -> str:
    found = [results.ratio(scenario, peer) for peer in peers]
    least = min((each.median for each in found if each), default=None)
    if least is None:
        return ""
    return f"{least:,.0f}" if least >= 10 else f"{least:.2f}"


def main(words: list[str]) -> int:
    print("\n".join(table(Results.read(Path(words[0])))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

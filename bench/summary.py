"""The README's numbers, filled in from a file of results.

    python -m bench.summary [bench/results/main.json]

A test compares the README with the file that it names, so it says what was measured.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from .results import DIRECTORY, OURS, Results
from .scenarios import MAIN

README = Path(__file__).parents[1] / "README.md"
# The file that the numbers are of; others are named beside them.
SOURCE = re.compile(r"\[bench/results/(\S+)\]\(bench/results/\1\.md\) has all of them")
# Whom a column is about; of several the one that did best.
COLUMNS = {
    "nginx + Lua": ("nginx", "nginx-joined"),
    "webdis": ("webdis",),
    "plain Starlette": ("plain",),
    "Waline": ("waline", "waline-pg"),
}


def filled(readme: str, results: Results) -> str:
    """The README with these results' table, and their name beside it."""
    name = results.name
    text = SOURCE.sub(
        f"[bench/results/{name}](bench/results/{name}.md) has all of them", readme, count=1
    )

    def fresh(found: re.Match[str]) -> str:
        return found[1] + "".join(f"{line}\n" for line in TABLES[found[2]](results))

    return re.sub(r"(<!-- (numbers|memory) -->\n\n)(?:\|.*\n)*", fresh, text)


def numbers(results: Results) -> Iterator[str]:
    columns = ("Work", "Requests/s", "p99 ms", "CPU µs", "of it Python")
    yield f"| {' | '.join((*columns, *(f'÷ {name}' for name in COLUMNS)))} |"
    yield "|---" * (len(columns) + len(COLUMNS)) + "|"
    for scenario in MAIN:
        if scenario in results.titles:
            cells = (results.titles[scenario], *_cells(results, scenario))
            yield f"| {' | '.join(cells)} |"


def _cells(results: Results, scenario: str) -> Iterator[str]:
    for what, form, unit in (
        ("rate", ",.0f", 1), ("p99_us", ".1f", 1000),
        ("server_us", ".0f", 1), ("user_us", ".1f", 1),
    ):  # fmt: skip
        spread = results.spread(scenario, OURS, what)
        yield f"{spread.median / unit:{form}}" if spread else ""
    for peers in COLUMNS.values():
        yield _ratio(results, scenario, peers)


def memory(results: Results) -> Iterator[str]:
    yield "| Memory | |"
    yield "|---|---|"
    ours = re.compile(rf"MB resident, {OURS}, (.*)")
    for name, value in results.memory.items():
        if found := ours.fullmatch(name):
            yield f"| a worker, {found[1]} | {value:.0f} MB |"
        elif name.startswith("bytes per counter"):
            yield f"| Redis, {name} | {value:.0f} |"


def _ratio(results: Results, scenario: str, peers: tuple[str, ...]) -> str:
    found = [results.ratio(scenario, peer) for peer in peers]
    least = min((each.median for each in found if each), default=None)
    if least is None:
        return ""
    return f"{least:,.0f}" if least >= 10 else f"{least:.2f}"


TABLES = {"numbers": numbers, "memory": memory}


def main(words: list[str]) -> int:
    results = Results.read(Path(words[0]) if words else DIRECTORY / "main.json")
    README.write_text(filled(README.read_text(), results))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

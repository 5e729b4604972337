"""Fills the figures of README.md and docs/benchmarks.md in from a file of results.

    python -m bench.summary [bench/results/main.json]

A test compares both with the runs that they name, so they say what was measured.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from .report import TO_LEAST
from .results import DIRECTORY, OURS, Results

ROOT = Path(__file__).parents[1]
DOCUMENTS = (ROOT / "README.md", ROOT / "docs" / "benchmarks.md")
# The name of the table that the figures are from; other tables are named in sentences of their own.
SOURCE = re.compile(
    r"(?<=ll rows: \[)bench/results/(\S+)(\]\((?:\.\./)?bench/results/)\1(?=\.md\))"
)
# The rows of the README, in words for readers who do not know how it was measured.
HEADLINE = {
    "inc": "counting a view",
    "read1": "reading a count",
    "page": "a page of 50 comments, read again",
}
# The rows of docs/benchmarks.md, of a full run's many.
SELECTED = (
    *("inc-browser", "inc", "inc-proxied", "inc-proxied-everysec"),
    *("read1-browser", "read1", "read1-proxied", "read50", "read50-same"),
    *("page", "page-live", "page-cold", "mixed", "inc@1", "inc@1000"),
)
# The peers of a column; of several the fastest counts.
COLUMNS = {
    "nginx + Lua": ("nginx", "nginx-joined"),
    "webdis": ("webdis",),
    "plain Starlette": ("plain",),
    "Waline": ("waline", "waline-pg"),
}


def filled(document: str, results: Results) -> str:
    """A document with these results' tables, and with their name beside them."""
    name = results.name
    text = SOURCE.sub(rf"bench/results/{name}\g<2>{name}", document)

    def fresh(match: re.Match[str]) -> str:
        return match[1] + "".join(f"{line}\n" for line in TABLES[match[2]](results))

    return re.sub(rf"(<!-- ({'|'.join(TABLES)}) -->\n\n)(?:\|.*\n)*", fresh, text)


def headline(results: Results) -> Iterator[str]:
    peers = ("nginx + Lua", "Waline")
    yield f"| Work | Requests/s | p99 ms | {' | '.join(f'÷ {name}' for name in peers)} |"
    yield "|---" * (3 + len(peers)) + "|"
    for scenario, title in HEADLINE.items():
        rate, p99, *_ = _cells(results, scenario)
        ratios = (_ratio(results, scenario, COLUMNS[name]) for name in peers)
        yield f"| {' | '.join((title, rate, p99, *ratios))} |"


def numbers(results: Results) -> Iterator[str]:
    columns = ["Work", "Requests/s", "p99 ms", "CPU µs", "of it Python"]
    at = len(columns)
    columns += [f"÷ {name}" for name in COLUMNS]
    if results.has_least:
        columns.insert(at, TO_LEAST)
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    for scenario in SELECTED:
        if scenario in results.titles:
            cells = [results.titles[scenario], *_cells(results, scenario)]
            if results.has_least:
                to_least = results.user_to_least(scenario)
                cells.insert(at, f"{to_least.median:.2f}" if to_least else "")
            yield f"| {' | '.join(cells)} |"


def _cells(results: Results, scenario: str) -> Iterator[str]:
    for what, form, unit in (
        ("rate", ",.0f", 1),
        ("p99_us", ".1f", 1000),
        ("server_us", ".0f", 1),
        ("user_us", ".1f", 1),
    ):
        spread = results.spread(scenario, OURS, what)
        yield f"{spread.median / unit:{form}}" if spread else ""
    for peers in COLUMNS.values():
        yield _ratio(results, scenario, peers)


def memory(results: Results) -> Iterator[str]:
    yield "| Memory | |"
    yield "|---|---|"
    ours = re.compile(rf"MB resident, {OURS}, (at the .*)")
    for name, value in results.memory.items():
        if match := ours.fullmatch(name):
            yield f"| a worker, {match[1]} | {value:.0f} MB |"
        elif name.startswith("bytes per counter"):
            yield f"| Redis, {name} | {value:.0f} |"


def _ratio(results: Results, scenario: str, peers: tuple[str, ...]) -> str:
    found = [results.ratio(scenario, peer) for peer in peers]
    least = min((each.median for each in found if each), default=None)
    if least is None:
        return ""
    return f"{least:,.0f}" if least >= 10 else f"{least:.2f}"


TABLES = {"headline": headline, "numbers": numbers, "memory": memory}


def main(words: list[str]) -> int:
    results = Results.read(Path(words[0]) if words else DIRECTORY / "main.json")
    for document in DOCUMENTS:
        document.write_text(filled(document.read_text(), results))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

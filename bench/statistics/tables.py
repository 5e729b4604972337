"""The tables of bench/results/statistics.md, from what was measured; a test compares them.

A table whose figures were not measured yet is left as it is.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..results import DIRECTORY, Results
from ..stats import Spread
from .rates import KEPT, ROWS, name_of

DOCUMENT = DIRECTORY / "statistics.md"
RATES = DIRECTORY / "statistics.json"
MEMORY = DIRECTORY / "statistics-memory.json"

Kept = Mapping[str, Any]


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def head(*columns: str) -> Iterator[str]:
    yield row(*columns)
    yield "|---" * len(columns) + "|"


# What is kept.


def memory(found: Kept, of: str) -> Iterator[str]:
    """Of a page, or of the site."""
    yield from head({"page": "Of a page", "site": "Of the site"}[of], "`views`", "`visitors`")
    for each in found[of]:
        yield row(each["what"], *(size(each[kept]) for kept in KEPT[1:]))


def visitors(found: Kept, of: str) -> Iterator[str]:
    whose = {"visitors": "a page and day", "site_visitors": "the site and a day"}[of]
    yield from head(f"Visitors of {whose}", "in all", "each")
    for each in found[of]:
        number = each["number"]
        yield row(f"{number:,}", size(each["bytes"]), f"{each['bytes'] / number:.1f} B")


def size(found: int | None) -> str:
    if found is None:
        return ""
    return f"{found:,} B" if found < 10_000 else f"{found / 1000:,.0f} kB"


# What a request costs.


def rates(results: Results) -> Iterator[str]:
    columns = ("requests/s", "÷ `off`", "its own code", "kernel", "Redis")
    yield from head("Work", "`STATISTICS`", *columns, "memory a view", "file a view")
    for each in ROWS:
        title = results.titles[each.scenario.name]
        for kept in each.kept:
            yield row(title, f"`{kept}`", *_cells(results, each.scenario.name, kept))


def _cells(results: Results, scenario: str, kept: str) -> Iterator[str]:
    peer, off = name_of(kept), name_of("off")
    spread = partial(results.spread, scenario, peer)
    yield _median(spread("rate"), "{:,.0f}")
    yield "" if kept == "off" else _median(results.ratio(scenario, off, ours=peer), "{:.2f}")
    for what in ("user_us", "system_us", "redis_us"):
        yield _median(spread(what), "{:.1f} µs")
    for what in ("memory_bytes", "file_bytes"):
        yield _median(spread(what), "{:.0f} B")


def _median(spread: Spread | None, form: str) -> str:
    # Where views add nothing, memory may shrink by some buffer.
    return form.format(max(spread.median, 0)) if spread else ""


def measured(results: Results) -> Iterator[str]:
    """How the rates were taken; how many runs count."""
    settings, here = results.settings, results.machine
    kept = sum(not run["is_discarded"] for run in results.runs)
    yield from head("Measured", "")
    yield row("on", f"{here['cpu']}, {here['cores']} cores, Python {here['python']}")
    yield row("how", f"{settings['rounds']} rounds of {settings['seconds']} s, {settings['cores']}")
    yield row("Redis", f"{settings['redis']}, durability {settings['durability']}")
    yield row("when", f"{results.when}, {results.commit}; {kept} of {len(results.runs)} runs count")


# The document.

OF_MEMORY: dict[str, Callable[[Kept], Iterator[str]]] = {
    "page": partial(memory, of="page"),
    "visitors": partial(visitors, of="visitors"),
    "site": partial(memory, of="site"),
    "site_visitors": partial(visitors, of="site_visitors"),
}
OF_RATES: dict[str, Callable[[Results], Iterator[str]]] = {"rates": rates, "measured": measured}


def filled(document: str, kept: Path = MEMORY, runs: Path = RATES) -> str:
    """The document with these results in its tables."""
    tables: dict[str, Sequence[str]] = {}
    if kept.exists():
        found = json.loads(kept.read_text())
        tables |= {name: list(table(found)) for name, table in OF_MEMORY.items()}
    if runs.exists():
        results = Results.read(runs)
        tables |= {name: list(table(results)) for name, table in OF_RATES.items()}
    for name, table in tables.items():
        pattern = rf"(<!-- {name} -->\n\n)(?:\|.*\n)*"
        document = re.sub(pattern, partial(_fresh, table), document)
    return document


def _fresh(table: Sequence[str], match: re.Match[str]) -> str:
    return match[1] + "".join(f"{line}\n" for line in table)

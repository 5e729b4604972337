"""The tables of a scaling plan, from a file of bench.scale's results.

docs/scaling.md holds them word for word, and a test compares: the document says what was measured
and simulated. What is a table here is a table there; nothing else of it is checked.
"""

from collections.abc import Callable, Iterator, Mapping
from math import ceil
from typing import Any

from .stats import between

Results = Mapping[str, Any]

BILLION = 1_000_000_000
# What one node is given for data, of 64 GB: as much again for a copy while a file is rewritten.
NODE_GB = 32
# Counters' buckets: the default, and the most that COUNTER_BUCKETS takes.
BUCKETS = ((16_384, 512), (1_048_576, 512), (1_048_576, 2048))
WHAT = {
    "view": "counting a view, browser's headers, the address's limit",
    "read": "reading a count, browser's headers",
    "page": "a page of comments that is kept, browser's headers",
    "submit": "writing a comment",
}


def workers(results: Results) -> Iterator[str]:
    yield "| One worker, one core | CPU µs | requests/s |"
    yield "|---|---|---|"
    for kind, us in results["costs"]["one"]["request"].items():
        yield f"| {WHAT[kind]} | {us:.1f} | {1e6 / us:,.0f} |"
    rate = results["capacity"]
    yield f"| a site: 47.5 %, 47.5 %, 4.5 % and 0.5 % of these | {1e6 / rate:.1f} | {rate:,.0f} |"


def batches(results: Results) -> Iterator[str]:
    """By size: what a request of each kind costs Redis, and how many commands it is."""
    rows = results["measured"]["batches"]
    by = {(row["kind"], row["size"], row["nodes"]): row for row in rows}
    sizes = sorted({row["size"] for row in rows})
    yield f"| Requests in a batch | {' | '.join(f'{size:,}' for size in sizes)} |"
    yield "|---|" + "---|" * len(sizes)
    for nodes, where in ((1, "one server"), (3, "three masters")):
        for kind, what in (
            ("add", "an increment"),
            ("spend", "a token of an address"),
            ("read", "a read, all different"),
            ("read, by Zipf", "a read, as visitors ask"),
            ("version", "a page's version"),
        ):
            found = [by[kind, size, nodes] for size in sizes]
            us = (f"{row['redis_us'] / row['size']:.1f}" for row in found)
            yield f"| {what}, {where}: Redis µs | {' | '.join(us)} |"
    for kind, what in (("add", "increments"), ("spend", "tokens")):
        sent = (f"{by[kind, size, 3]['sent']:,.0f}" for size in sizes)
        yield f"| commands for {what}, three masters | {' | '.join(sent)} |"


def fleets(results: Results) -> Iterator[str]:
    yield (
        "| Asked for | On disk | Nodes | Workers | Requests/s | Hottest node, mean | "
        "Batch | Commands a batch | Node µs a request | p99 ms |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for row in results["fleets"]:
        busy = row["nodes_busy"]
        mean = sum(busy) / len(busy)
        yield (
            f"| {row['title']} | {row['level']} | {row['nodes']} | {row['workers']:,} | "
            f"{_round(row['rate']):,} | {row['hottest']:.0%}, {mean:.0%} | {row['batch']:.0f} | "
            f"{row['commands']:.0f} | {row['node_us']:.1f} | {row['p99_us'] / 1000:.1f} |"
        )


def loads(results: Results) -> Iterator[str]:
    yield (
        "| Requests/s of 6 workers | Batch | Reads saved | Node µs a request | Node busy | p99 ms |"
    )
    yield "|---|---|---|---|---|---|"
    for row in results["loads"]:
        yield (
            f"| {_round(row['rate']):,} | {row['batch']:.1f} | {row['saved']:.0%} | "
            f"{row['node_us']:.1f} | {row['nodes_busy'][0]:.0%} | {row['p99_us'] / 1000:.1f} |"
        )


def placement(results: Results) -> Iterator[str]:
    exponents = list(results["placement"][0]["hottest"])
    heads = " | ".join(f"Zipf's s = {s}" for s in exponents)
    yield f"| Masters | Groups of counters on one | Share of all views on the hottest: {heads} |"
    yield "|---|---|" + "---|" * len(exponents)
    for row in results["placement"]:
        shares = " | ".join(f"{share:.0%}" for share in row["hottest"].values())
        yield f"| {row['nodes']} | {row['least']} to {row['most']} | {shares} |"


def fills(results: Results) -> Iterator[str]:
    yield (
        "| Counters a bucket | `hash-max-listpack-entries` | Bytes a counter | "
        "Increment µs | Read µs |"
    )
    yield "|---|---|---|---|---|"
    for row in results["measured"]["fills"]:
        yield (
            f"| {row['fill']:,} | {row['limit']} | {row['bytes']:.0f} | {row['add_us']:.1f} | "
            f"{row['read_us']:.1f} |"
        )


def billion(results: Results) -> Iterator[str]:
    measured = results["measured"]
    fills, name = measured["fills"], measured["name_bytes"]
    each = max(row["count_us"] for row in fills if "count_us" in row and row["fill"] <= 64)
    yield (
        "| `COUNTER_BUCKETS` | `hash-max-listpack-entries` | Counters a bucket | Bytes a counter | "
        f"GB | Nodes of {NODE_GB} GB | Increment µs | Names in each worker | "
        "Counting them, each worker and minute |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for buckets, limit in BUCKETS:
        fill = BILLION / buckets
        size = between(_points(fills, limit, "bytes"), fill)
        us = between(_points(fills, limit, "add_us"), fill)
        gb = BILLION * size / 1e9
        yield (
            f"| {buckets:,} | {limit} | {fill:,.0f} | {size:.0f} | {gb:.0f} | "
            f"{ceil(gb / NODE_GB)} | {us:.1f} | {buckets * name / 1e6:.0f} MB | "
            f"{buckets * each / 1e6:.2f} s |"
        )


def comments(results: Results) -> Iterator[str]:
    memory = results["stored"]["memory"]
    yield "| Comments | Bytes each, with indexes | GB for 10 million |"
    yield "|---|---|---|"
    for name, size in memory.items():
        if name.startswith("bytes per comment"):
            number = name.removeprefix("bytes per comment, ")
            yield f"| {number} | {size:,.0f} | {size / 100:.1f} |"


def durability(results: Results) -> Iterator[str]:
    yield (
        "| `DURABILITY` | Increments/s, 64 connections | 256 | p99 ms, 64 | 256 | "
        "Redis µs, 64 | 256 |"
    )
    yield "|---|---|---|---|---|---|---|"
    for level, row in results["stored"]["levels"].items():
        figures = [f"{row[f'rate@{n}']:,.0f}" for n in (64, 256)]
        figures += [f"{row[f'p99_us@{n}'] / 1000:.1f}" for n in (64, 256)]
        figures += [f"{row[f'redis_us@{n}']:.1f}" for n in (64, 256)]
        yield f"| `{level}` | {' | '.join(figures)} |"


TABLES: dict[str, Callable[[Results], Iterator[str]]] = {
    "One worker": workers,
    "Batches": batches,
    "Fleets": fleets,
    "A node that fills up": loads,
    "Where counters lie": placement,
    "Durability": durability,
    "Buckets": fills,
    "A billion counters": billion,
    "Comments": comments,
}


def text(results: Results) -> str:
    here, checked = results["measured"]["machine"], results["check"]
    lines = [
        f"# Scale, {results['when']}, {results['commit']}",
        "",
        f"{here['cpu']}, {here['cores']} cores, {here['system']}, Python {here['python']}, "
        f"{results['measured']['redis']}. Others used {results['measured']['foreign']:.0%} of the "
        f"cores meanwhile. An fsync is taken to last {results['stored']['fsync_us']} µs.",
    ]
    for title, table in TABLES.items():
        lines += ["", f"## {title}", "", *table(results)]
    lines += ["", "## The figures against each other", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {value:.2f} |" for name, value in checked.items()]
    return "\n".join(lines) + "\n"


def _points(fills: list[dict[str, Any]], limit: int, what: str) -> list[tuple[float, float]]:
    return [(row["fill"], row[what]) for row in fills if row["limit"] == limit]


def _round(rate: float) -> int:
    """Two digits are all that a simulation has to say."""
    digits = len(str(round(rate))) - 2
    return int(round(rate, -digits))

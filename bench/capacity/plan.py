"""The tables of docs/scaling.md and bench/scaling.md, from bench.capacity.scale's results.

Figures are in tables only, each below a comment with its name: `bench.capacity.scale` fills them
in, and a test compares. The sentences between them have no figures that could become outdated.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any

from ..stats import NOISE, between, is_noisy

Results = Mapping[str, Any]

ROOT = Path(__file__).parents[2]
# The page to plan by, and all other tables.
DOCUMENTS = (ROOT / "docs" / "scaling.md", ROOT / "bench" / "scaling.md")
BILLION = 1_000_000_000
# Memory for data on one node.
NODE_GB = 32
# Twice, for a copy while a file is rewritten, and twice again, for a replica of every master.
ROOM, COPIES = 2, 2
# COUNTER_BUCKETS and hash-max-listpack-entries: the default, and the greatest number of buckets.
BUCKETS = ((65_536, 512), (1_048_576, 512), (1_048_576, 2048))
WHAT = {
    "view": "counting a view, with its address's limit",
    "read": "reading a count",
    "page": "a page of comments that is kept",
    "submit": "writing a comment",
}
KINDS = {
    "add": "an increment",
    "spend": "a token of an address",
    "read": "a read, all different",
    "read, by Zipf": "a read, as visitors ask",
    "version": "a page's version",
}


def table(*columns: str) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def measured_on(results: Results) -> Iterator[str]:
    here, foreign = results["measured"]["machine"], results["foreign"]
    noisy = sum(map(is_noisy, foreign))
    yield from table("Measured", "")
    yield row("on", f"{here['cpu']}, {here['cores']} cores, Python {here['python']}, Linux")
    yield row("Redis", results["measured"]["redis"])
    yield row("when", f"{results['when']}, {results['commit']}")
    links = [f"[{name}](results/{name}.md)" for name in results["stored"]["tables"]]
    yield row("over HTTP, by the bench", ", ".join(links))
    yield row(
        f"rows in which others used more than {NOISE:.0%} of the cores",
        f"**{noisy} of {len(foreign)}**, {foreign[-1]:.0%} at worst" if noisy else "none",
    )


def assumptions(results: Results) -> Iterator[str]:
    assumed = results["assumed"]
    mix = (f"{WHAT[kind]} {share:.1%}" for kind, share in assumed["mix"].items())
    yield from table("Assumed", "")
    yield row("a node", f"one Redis master: one core, {NODE_GB} GB for data")
    yield row("a worker", f"one core, asked for {assumed['busy']:.0%} of what it does alone")
    yield row("between them", f"{assumed['trip_us']:.0f} µs there and back, always; no TLS")
    yield row("a site", ", ".join(mix))
    yield row(
        "its paths", f"{assumed['paths']:,}, by Zipf's law, s = 1 where no other is named; 33 bytes"
    )
    yield row("its visitors", "each view from another address, with a browser's headers")
    yield row(
        "carried",
        f"answered as fast as it is asked for, p99 within {assumed['p99_us'] / 1000:.0f} ms",
    )
    yield row("replicas", "cost their master nothing, and answer nothing")


def workers(results: Results) -> Iterator[str]:
    costs, mix = results["costs"], results["assumed"]["mix"]
    yield from table("One worker, one core", "CPU µs", "requests/s")
    for kind, us in costs["request"].items():
        yield row(WHAT[kind], f"{us:.0f}", f"{_round(1e6 / us):,}")
    us = results["stored"]["server_us"]["page-cold"]
    yield row("a page that is not kept", f"{us:.0f}", f"{_round(1e6 / us):,}")
    us = sum(share * costs["request"][kind] for kind, share in mix.items())
    yield row("a site", f"{us:.0f}", f"{_round(1e6 / us):,}")
    yield row("memory, after all of the bench", f"{results['stored']['worker_mb']:.0f} MB", "")


def operations(results: Results) -> Iterator[str]:
    by = _batches(results)
    yield from table(
        "A request wants",
        "operations on data",
        "commands alone",
        "of 64 in a batch",
        "the same, three masters",
    )
    for kind, what in KINDS.items():
        some, one, three = by[kind, 64, 1], by[kind, 1, 1], by[kind, 64, 3]
        yield row(
            what,
            f"{some['run'] / 64:.2f}",
            f"{one['sent']:.0f}",
            f"{some['sent'] / 64:.3f}",
            f"{three['sent'] / 64:.2f}",
        )


def batches(results: Results) -> Iterator[str]:
    by = _batches(results)
    sizes = sorted({size for _, size, _ in by})
    yield from table("Redis µs a request, by requests in a batch", *(f"{size}" for size in sizes))
    for nodes, where in ((1, "one server"), (3, "three masters")):
        for kind, what in KINDS.items():
            us = (f"{by[kind, size, nodes]['redis_us'] / size:.1f}" for size in sizes)
            yield row(f"{what}, {where}", *us)


def fleets(results: Results) -> Iterator[str]:
    yield from table(
        "Asked for",
        "Nodes",
        "Workers",
        "each busy",
        "Requests/s",
        "Hottest node busy",
        "All nodes",
        "Batch",
        "Commands a batch",
        "Node µs a request",
        "p99 ms",
    )
    for each in results["fleets"]:
        busy = each["nodes_busy"]
        yield row(
            each["title"],
            each["nodes"],
            f"{each['workers']:,}",
            f"{each['worker_busy']:.0%}",
            f"{_round(each['rate']):,}",
            f"{each['hottest']:.0%}",
            f"{sum(busy) / len(busy):.0%}",
            f"{each['batch']:.0f}",
            f"{each['commands']:.0f}",
            f"{each['node_us']:.1f}",
            f"{each['p99_us'] / 1000:.1f}",
        )


def loads(results: Results) -> Iterator[str]:
    yield from table(
        f"Requests/s of {results['loads'][0]['workers']} workers",
        "Batch",
        "Reads saved",
        "Node µs a request",
        "Node busy",
        "p99 ms",
    )
    for each in results["loads"]:
        yield row(
            f"{_round(each['rate']):,}",
            f"{each['batch']:.1f}",
            f"{each['saved']:.0%}",
            f"{each['node_us']:.1f}",
            f"{each['nodes_busy'][0]:.0%}",
            f"{each['p99_us'] / 1000:.1f}",
        )


def placement(results: Results) -> Iterator[str]:
    yield from table(
        "Masters",
        "Groups of counters on one",
        *(f"Hottest one's share of views, s = {s}" for s in results["placement"][0]["hottest"]),
    )
    for each in results["placement"]:
        shares = (f"{share:.0%}" for share in each["hottest"].values())
        yield row(each["nodes"], f"{each['least']} to {each['most']}", *shares)


def fills(results: Results) -> Iterator[str]:
    yield from table(
        "Counters a bucket",
        "`hash-max-listpack-entries`",
        "Bytes a counter",
        "Increment µs",
        "Read µs",
    )
    for each in results["measured"]["fills"]:
        yield row(
            f"{each['fill']:,}",
            each["limit"],
            f"{each['bytes']:.0f}",
            f"{each['add_us']:.1f}",
            f"{each['read_us']:.1f}",
        )


def billion(results: Results) -> Iterator[str]:
    found = results["measured"]["fills"]
    yield from table(
        "`COUNTER_BUCKETS`",
        "`hash-max-listpack-entries`",
        "Counters a bucket",
        "Bytes a counter",
        "GB",
        f"Nodes of {NODE_GB} GB",
        "GB to rent",
        "Increment µs",
    )
    for buckets, limit in BUCKETS:
        fill = BILLION / buckets
        size, us = (between(_points(found, limit, what), fill) for what in ("bytes", "add_us"))
        gb = BILLION * size / 1e9
        yield row(
            f"{buckets:,}",
            limit,
            f"{fill:,.0f}",
            f"{size:.0f}",
            f"{gb:.0f}",
            ceil(gb / NODE_GB),
            f"{gb * ROOM * COPIES:.0f}",
            f"{us:.1f}",
        )


def wanted(results: Results) -> Iterator[str]:
    """How many buckets keep so many counters compact."""
    yield from table("Counters", "`COUNTER_BUCKETS` for at most 256 in one", "GB", "GB to rent")
    size = between(_points(results["measured"]["fills"], 512, "bytes"), 256)
    for counters in (10_000_000, 30_000_000, 100_000_000, 250_000_000):
        buckets = max(65_536, 1 << (counters // 256 - 1).bit_length())
        gb = counters * size / 1e9
        yield row(f"{counters:,}", f"{buckets:,}", f"{gb:.1f}", f"{gb * ROOM * COPIES:.1f}")


def comments(results: Results) -> Iterator[str]:
    yield from table("Comments", "Bytes each, with indexes", "GB for 10 million", "GB to rent")
    for number, size in results["stored"]["comment_bytes"].items():
        gb = size / 100
        yield row(number, f"{size:,.0f}", f"{gb:.1f}", f"{gb * ROOM * COPIES:.0f}")


def groups(results: Results) -> Iterator[str]:
    rows, dealt = results["groups"]["rows"], results["groups"]["dealt"]
    by = {(each["masters"], each["groups"], each["size"]): each for each in rows}
    sizes = sorted({size for _, _, size in by})
    yield from table(
        "Redis µs an increment, by increments in a batch",
        *map(str, sizes),
        "Commands, of 64",
        "Groups on one of 30 masters",
    )
    for masters in sorted({masters for masters, _, _ in by}):
        for each in dealt:
            of = each["groups"]
            yield row(
                f"{masters} masters, {of} groups",
                *(f"{by[masters, of, size]['redis_us']:.1f}" for size in sizes),
                f"{by[masters, of, 64]['sent']:.0f}",
                f"{each['least']} to {each['most']}",
            )


def durability(results: Results) -> Iterator[str]:
    yield from table(
        "`DURABILITY`",
        "Increments/s, 64 connections",
        "256",
        "p99 ms, 64",
        "256",
        "Redis µs, 64",
        "256",
    )
    for level, each in results["stored"]["levels"].items():
        yield row(
            f"`{level}`",
            *(f"{_round(each[f'rate@{n}']):,}" for n in (64, 256)),
            *(f"{each[f'p99_us@{n}'] / 1000:.1f}" for n in (64, 256)),
            *(f"{each[f'redis_us@{n}']:.1f}" for n in (64, 256)),
        )


def check(results: Results) -> Iterator[str]:
    yield from table("Both worked out and measured", "Worked out", "Measured")
    for each in results["check"]:
        yield row(each["what"], f"{each['said']:.1f}", f"{each['measured']:.1f}")


TABLES: dict[str, Callable[[Results], Iterator[str]]] = {
    "fleets": fleets,
    "workers": workers,
    "operations": operations,
    "batches": batches,
    "loads": loads,
    "placement": placement,
    "durability": durability,
    "groups": groups,
    "fills": fills,
    "wanted": wanted,
    "billion": billion,
    "comments": comments,
    "assumptions": assumptions,
    "measured": measured_on,
    "check": check,
}


def filled(document: str, results: Results) -> str:
    """The document with these results in its tables."""

    def fresh(found: re.Match[str]) -> str:
        return found[1] + "".join(f"{line}\n" for line in TABLES[found[2]](results))

    return re.sub(r"(<!-- (\w+) -->\n\n)(?:\|.*\n)*", fresh, document)


def _batches(results: Results) -> dict[tuple[str, int, int], dict[str, Any]]:
    rows = results["measured"]["batches"]
    return {(each["kind"], each["size"], each["nodes"]): each for each in rows}


def _points(fills: Sequence[Mapping[str, Any]], limit: int, what: str) -> list[tuple[float, float]]:
    return [(each["fill"], each[what]) for each in fills if each["limit"] == limit]


def _round(rate: float) -> int:
    """A simulation is accurate to two digits at best."""
    return int(round(rate, 2 - len(str(round(rate)))))

"""What it takes to carry more: measured costs, and a simulation of fleets that nobody has here.

    python -m bench.scale [--again FILE.json]

Measures for two to three minutes (costs.py), simulates for some more (fleet.py), and writes
results/scale-<date>.json and .md and docs/pictures/scale-*.png. docs/scaling.md holds the same
tables; a test compares them. What HTTP costs a worker is taken from the stored results of the
bench, named in SOURCES: this must be measured alone, and is. --again keeps a file's measurements
and simulates anew.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from . import costs, machine, plan, plots
from .costs import MASTERS, Row
from .fleet import SITE, Costs, Fleet, groups_by_node, is_carried, most, shares_by_node, simulate
from .machine import Cores, Watch, pin_self
from .peers import ROOT, House, commit
from .results import OURS, Results
from .stats import between

HERE = Path(__file__).parent / "results"
SOURCES = ("2026-11-21-9143fb3", "2026-11-21-f4785f5")
# Workers of a fleet are busy for such a share of their time, at most: the rest is for the peak
# within the second, and for a worker that is away.
BUSY = 0.6
NODES = (1, 3, 30)
EXPONENTS = (0.8, 1.0, 1.2)
PATHS = 100_000
# Workers before one node.
ASKING = 6
VIEWS = {"view": 1.0}

CostsFor = Callable[[int], Costs]


# What is measured here, and what was measured before.


def measure() -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="ffb") as name:
        house = House(Path(name), Cores.choose(), "everysec")
        here = machine.describe()
        pin_self(house.cores.server)
        watch = Watch(house.cores)
        with costs.one_server(house) as servers:
            batches = costs.of_batches(servers, tell)
            memory = costs.of_memory(servers, tell)
        with costs.masters(house) as servers:
            batches += costs.of_batches(servers, tell)
        return {
            "machine": here,
            "redis": machine.version_of_redis(), "foreign": round(watch.foreign(), 3),
            "batches": batches, **memory, "name_bytes": costs.bytes_a_bucket(),
        }  # fmt: skip


def stored() -> dict[str, Any]:
    """What the bench has measured over HTTP: µs of a worker, requests a second, bytes."""
    main, more = (Results.read(HERE / f"{each}.json") for each in SOURCES)

    def of(results: Results, scenario: str, what: str, durability: str = "always") -> float:
        spread = results.spread(scenario, OURS, what, durability)
        assert spread is not None
        return round(spread.median, 2)

    levels = {"fsync": (main, "always"), "everysec": (more, "everysec"), "memory": (more, "none")}
    names = ("inc", "inc-browser", "read1", "read1-browser", "page", "mixed")
    return {
        "server_us": {name: of(main, name, "server_us") for name in names}
        | {"submit": of(more, "submit", "server_us")},
        "rate": {name: of(main, name, "rate") for name in names}
        | {"submit": of(more, "submit", "rate"), "inc-hot": of(more, "inc-hot", "rate")},
        # Of a quiet disk: others who write would be measured along.
        "fsync_us": main.machine["fsync_us"],
        "submit_redis_us": of(more, "submit", "redis_us"),
        "levels": {
            level: {
                f"{what}@{connections}": of(results, scenario, what, durability)
                for connections, scenario in ((64, "inc"), (256, "inc@256"))
                for what in ("rate", "redis_us", "p99_us")
            }
            for level, (results, durability) in levels.items()
        },
        "memory": {name: value for name, value in more.memory.items() if "article" in name},
        "scripts": {
            name: figures["redis_us"]
            for name, figures in json.loads((HERE / "scripts.json").read_text()).items()
            if "redis_us" in figures
        },
    }


# From figures to costs.


def fitted(rows: Sequence[Row], part: float) -> tuple[float, float]:
    """(a command's µs, an item's): least squares of what is relative, beyond `part` a node."""
    a = b = c = x = y = 0.0
    for row in rows:
        touched = parts_of(row)
        weight = 1 / row["redis_us"] ** 2
        left = row["redis_us"] - touched * part
        a += weight * row["sent"] ** 2
        b += weight * row["sent"] * row["size"]
        c += weight * row["size"] ** 2
        x += weight * row["sent"] * left
        y += weight * row["size"] * left
    determinant = a * c - b * b
    return max((x * c - y * b) / determinant, 0.0), max((a * y - b * x) / determinant, 0.0)


def parts_of(row: Row) -> float:
    """How many nodes the batch's commands are spread over, on average."""
    nodes, sent = int(row["nodes"]), float(row["sent"])
    touched: float = nodes * (1 - (1 - 1 / nodes) ** sent)
    return touched


def costs_of(rows: Sequence[Row], stored: dict[str, Any], nodes: int) -> Costs:
    """For a single server, or a Cluster."""
    by = {(row["kind"], row["size"], row["nodes"]): row for row in rows}
    # One short command and its answer.
    part = float(by["version", 1, 1]["redis_us"])
    call, item = dict[str, float](), dict[str, float]()
    for kind in ("add", "spend", "read", "version"):
        call[kind], item[kind] = fitted([row for row in rows if row["kind"] == kind], part)
    # What a comment takes of Redis, divided as its scripts' times are.
    scripts = stored["scripts"]
    site = scripts["site/announce"]
    share = site / (site + scripts["comments/publish"] + scripts["gate/admit"])
    item["announce"] = share * stored["submit_redis_us"]
    item["submit"] = stored["submit_redis_us"] - item["announce"]
    us = stored["server_us"]
    toll = by["spend", 64, 1]["own_us"] / 64
    headers = us["inc-browser"] - us["inc"]
    sends = [
        (by[kind, 64, MASTERS]["own_us"] - by[kind, 64, 1]["own_us"])
        / (by[kind, 64, MASTERS]["sent"] - by[kind, 64, 1]["sent"])
        for kind in ("add", "spend", "read", "version")
    ]
    if nodes > 1:
        # TCP, and not a UNIX socket: whatever the smallest batches cost beyond what they want.
        part = median(
            (row["redis_us"] - row["sent"] * call[row["kind"]] - item[row["kind"]]) / parts_of(row)
            for row in rows
            if row["kind"] in call and row["size"] == 1 and row["nodes"] > 1
        )
    return Costs(
        part=part,
        call={**call, "submit": 0.0, "announce": 0.0},
        item=item,
        request={
            "view": us["inc-browser"] + toll, "read": us["read1-browser"],
            "page": us["page"] + headers, "submit": us["submit"],
        },
        send=median(sends),
    )  # fmt: skip


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each) for each in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


# Fleets.


def capacity(found: Costs, mix: Mapping[str, float] = SITE) -> float:
    """Requests a second of one worker that does nothing else."""
    return 1e6 / sum(share * found.request[kind] for kind, share in mix.items())


def fleets(costs_for: CostsFor, fsync_us: float) -> list[Row]:
    """The most that each fleet carries."""
    rows = []

    def row(title: str, level: str, fleet: Fleet) -> None:
        found = costs_for(fleet.nodes)
        if level == "fsync":
            found = replace(found, fsync=fsync_us)
        fleet = replace(fleet, rate=BUSY * capacity(found, fleet.mix))
        fleet, outcome = most(fleet, found)
        tell(f"{title}, {level}: {fleet.nodes} nodes, {fleet.workers} workers, {outcome.rate:,.0f}")
        rows.append(
            {"title": title, "level": level, "nodes": fleet.nodes, "workers": fleet.workers,
             "is_carried": is_carried(outcome), "hottest": outcome.hottest, **asdict(outcome)}
        )  # fmt: skip

    site, free = Fleet(1, 1, 1.0, paths=PATHS), "a site, COUNTER_RATE=0"
    for nodes in NODES:
        row("a site", "everysec", replace(site, nodes=nodes))
    for nodes in NODES:
        row("a site", "fsync", replace(site, nodes=nodes))
    for nodes in NODES:
        row(free, "everysec", replace(site, nodes=nodes, is_tolled=False))
    for s in EXPONENTS[::2]:
        row(f"a site, Zipf's s = {s}", "everysec", replace(site, nodes=30, s=s))
    for nodes in (1, 30):
        row("views of one page", "everysec", Fleet(nodes, 1, 1.0, VIEWS, paths=1))
    return rows


def loads(found: Costs) -> list[Row]:
    """One node as more and more is asked of it, by a few workers: what the batch does."""
    rows = []
    for share in (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
        fleet = Fleet(1, ASKING, share * capacity(found), paths=PATHS)
        rows.append({"workers": fleet.workers, **asdict(simulate(fleet, found))})
    return rows


def placement() -> list[Row]:
    rows = []
    for nodes in NODES[1:]:
        groups = groups_by_node(nodes)
        rows.append(
            {"nodes": nodes, "least": min(groups), "most": max(groups),
             "hottest": {str(s): max(shares_by_node(nodes, PATHS, s)) for s in EXPONENTS}}
        )  # fmt: skip
    return rows


def check(measured: dict[str, Any], found: Costs, stored: dict[str, Any]) -> dict[str, float]:
    """What the figures say of each other: where one can be worked out from others, both."""
    # The bench's own row: one worker, one server, no toll, nothing between them.
    us = stored["levels"]["everysec"]
    one = replace(found, request={"view": 1e6 / us["rate@64"] * 0.9})
    fleet = Fleet(1, 1, us["rate@64"] * 0.9, VIEWS, paths=10_000, is_tolled=False)
    sizes = [(row["fill"], row["bytes"]) for row in measured["fills"] if row["limit"] == 512]
    grown = {row["counters"]: row["bytes"] for row in measured["growth"]}
    return {
        "redis_us, simulated": simulate(fleet, one).node_us,
        "redis_us, measured": us["redis_us@64"],
        "bytes of 1,000,000, worked out": between(sizes, 1_000_000 / 16_384),
        "bytes of 1,000,000, measured": grown[1_000_000],
    }


# The command.


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.scale")
    parser.add_argument("--again", type=Path, help="take the measurements from this file")
    asked = parser.parse_args(words)
    if asked.again:
        kept = json.loads(asked.again.read_text())
        results = {name: kept[name] for name in ("when", "commit", "measured")}
    else:
        when = date.today().isoformat()
        results = {"when": when, "commit": commit(), "measured": measure()}
    measured = results["measured"]
    results["stored"] = stored()
    costs_for = partial(costs_of, measured["batches"], results["stored"])
    one = costs_for(1)
    results["costs"] = {"one": asdict(one), "cluster": asdict(costs_for(MASTERS))}
    results["capacity"] = capacity(one)
    results["check"] = check(measured, one, results["stored"])
    results["placement"] = placement()
    results["loads"] = loads(one)
    results["fleets"] = fleets(costs_for, results["stored"]["fsync_us"])
    results = rounded(results)
    file = HERE / f"scale-{results['when']}.json"
    file.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    file.with_suffix(".md").write_text(plan.text(results))
    for picture in plots.draw_scale(results, ROOT / "docs" / "pictures"):
        tell(f"wrote {picture}")
    tell(f"wrote {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

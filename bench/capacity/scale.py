"""How to carry more: measured costs, and a simulation of fleets that do not exist here.

    python -m bench.capacity.scale [--noisy]

Measures for some minutes (costs.py, groups.py), simulates for some more (fleet.py), writes
results/scale.json and docs/pictures/scale-*.png, and fills in the tables of docs/scaling.md and
bench/scaling.md (plan.py). What HTTP costs a worker is taken from stored results of the bench,
named in SOURCES.
Figures that other processes disturbed are refused, or with --noisy kept and marked.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import uvloop

from .. import machine, plots
from ..machine import Cores, pin_self
from ..peers import ROOT, Environment, commit
from ..results import DIRECTORY, OURS, Results, lines
from ..stats import between, is_noisy
from . import costs, groups, plan
from .costs import MASTERS, Row
from .fleet import P99_US, SITE, TRIP_US, Costs, Fleet, most, simulate
from .placement import groups_by_node, shares_by_node

FILE = DIRECTORY / "scale.json"
# Results of the bench: its main rows, its rows for comments, and increments at each durability.
SOURCES = ("main", "parts", "levels")
# DURABILITY -> what the names of its scenarios end in.
LEVELS = {"fsync": "", "everysec": "-everysec", "memory": "-none"}
# Workers of a fleet get this share of what they can do alone: the rest is for the commands of a
# Cluster, for peaks within a second, and for a worker that fails.
BUSY = 0.6
NODES = (1, 3, 30)
EXPONENTS = (0.8, 1.0, 1.2)
PATHS = 100_000
# Workers for one node, and the share of their time that they are busy.
ASKING = 6
ASKED = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


# Measured here, and measured before.


async def measure() -> Row:
    with tempfile.TemporaryDirectory(prefix="ffb") as name:
        environment, here = Environment(Path(name), Cores.choose(), "everysec"), machine.describe()
        pin_self(environment.cores.server)
        rows = costs.Rows(environment.cores)
        with costs.one_server(environment) as servers:
            log("one server")
            batches = await costs.of_batches(servers, rows)
            log("memory")
            million = await costs.of_a_million(servers, rows)
            fills = await costs.of_fills(servers, rows)
        with costs.masters(environment) as servers:
            log(f"{MASTERS} masters")
            batches += await costs.of_batches(servers, rows)
        return {
            "machine": here,
            "redis": machine.version_of_redis(),
            "batches": batches,
            "million": million,
            "fills": fills,
        }


async def of_groups() -> Row:
    with tempfile.TemporaryDirectory(prefix="ffb") as name:
        environment = Environment(Path(name), Cores.choose(), "everysec")
        pin_self(environment.cores.server)
        return {"rows": await groups.measure(environment), "dealt": groups.dealt()}


def rows_of(measured: Row) -> list[Row]:
    return [row for rows in measured.values() if isinstance(rows, list) for row in rows]


def stored() -> dict[str, Any]:
    """What the bench has measured over HTTP: µs of a worker and of Redis, requests a second."""
    main, more, levels = (Results.read(DIRECTORY / f"{each}.json") for each in SOURCES)

    def of(results: Results, scenario: str, what: str) -> float:
        spread = results.spread(scenario, OURS, what)
        assert spread is not None
        return round(spread.median, 2)

    scripts = json.loads((DIRECTORY / "scripts.json").read_text())
    return {
        "tables": [main.name, more.name, levels.name],
        "server_us": {
            name: of(main, name, "server_us")
            for name in ("inc", "inc-browser", "read1-browser", "page", "page-cold")
        }
        | {"submit": of(levels, "submit", "server_us")},
        "submit_redis_us": of(levels, "submit", "redis_us"),
        "levels": {
            level: {
                f"{what}@{connections}": of(levels, f"{scenario}{suffix}", what)
                for connections, scenario in ((64, "inc"), (256, "inc@256"))
                for what in ("rate", "redis_us", "p99_us")
            }
            for level, suffix in LEVELS.items()
        },
        "comment_bytes": {
            name.removeprefix("bytes per comment, "): value
            for name, value in more.memory.items()
            if name.startswith("bytes per comment")
        },
        "worker_mb": main.memory["MB resident, footfall, at the end"],
        "comment_scripts_us": {
            name: scripts[name]["redis_us"]
            for name in ("cooldown/start", "comments/publish", "journal/apply, 1 comment")
        },
    }


# From figures to costs.


def fitted(rows: Sequence[Row], part: float) -> tuple[float, float]:
    """(µs of a command, µs of an item): least squares of relative errors, beyond `part` for each
    node."""
    a = b = c = x = y = 0.0
    for row in rows:
        weight = 1 / row["redis_us"] ** 2
        left = row["redis_us"] - parts_of(row) * part
        a += weight * row["sent"] ** 2
        b += weight * row["sent"] * row["size"]
        c += weight * row["size"] ** 2
        x += weight * row["sent"] * left
        y += weight * row["size"] * left
    determinant = a * c - b * b
    if determinant < 1e-9 * a * c:
        # If each item is a command, the two costs cannot be separated.
        return 0.0, max(y / c, 0.0)
    return max((x * c - y * b) / determinant, 0.0), max((a * y - b * x) / determinant, 0.0)


def parts_of(row: Row) -> float:
    """How many nodes the batch's commands go to, on average."""
    nodes, sent = int(row["nodes"]), float(row["sent"])
    touched: float = nodes * (1 - (1 - 1 / nodes) ** sent)
    return touched


def costs_of(rows: Sequence[Row], stored: dict[str, Any]) -> Costs:
    by = {(row["kind"], row["size"], row["nodes"]): row for row in rows}
    kinds = ("add", "spend", "read", "version")
    # The cost of one short command and its answer.
    part = float(by["version", 1, 1]["redis_us"])
    fits = {kind: fitted([row for row in rows if row["kind"] == kind], part) for kind in kinds}
    # What a comment costs Redis, divided in proportion to its scripts' times.
    scripts = stored["comment_scripts_us"]
    follow = stored["submit_redis_us"] * scripts["journal/apply, 1 comment"] / sum(scripts.values())
    us = stored["server_us"]
    headers = us["inc-browser"] - us["inc"]
    # Reads are a command for each counter, however many nodes there are.
    divided = [
        (by[kind, 64, 1], by[kind, 64, MASTERS])
        for kind in kinds
        if by[kind, 64, 1]["sent"] != by[kind, 64, MASTERS]["sent"]
    ]
    sends = [
        (many["own_us"] - one["own_us"]) / (many["sent"] - one["sent"]) for one, many in divided
    ]
    return Costs(
        part=part,
        call={kind: call for kind, (call, _) in fits.items()} | {"submit": 0.0, "follow": 0.0},
        item={kind: item for kind, (_, item) in fits.items()}
        | {"submit": stored["submit_redis_us"] - follow, "follow": follow},
        request={
            "view": us["inc-browser"] + by["spend", 64, 1]["own_us"] / 64,
            "read": us["read1-browser"],
            "page": us["page"] + headers,
            "submit": us["submit"],
        },
        send=median(sends),
    )


# Fleets.


def fleets(found: Costs) -> list[Row]:
    """The most that each fleet carries."""
    site = Fleet(1, 1, 1.0, paths=PATHS)
    views = replace(site, mix={"view": 1.0}, paths=1)
    fleets = [("a site", replace(site, nodes=nodes)) for nodes in NODES]
    fleets += [
        (f"a site, Zipf's s = {s}", replace(site, nodes=NODES[-1], s=s)) for s in EXPONENTS[::2]
    ]
    fleets += [("views of one page", replace(views, nodes=nodes)) for nodes in (1, NODES[-1])]
    rows = []
    for title, fleet in fleets:
        fleet, outcome = most(replace(fleet, rate=BUSY * 1e6 / found.mean(fleet.mix)), found)
        log(f"{title}: {fleet.nodes} nodes, {fleet.workers} workers, {outcome.rate:,.0f}/s")
        rows.append(
            {
                "title": title,
                "nodes": fleet.nodes,
                "workers": fleet.workers,
                "hottest": outcome.hottest,
                **asdict(outcome),
            }
        )
    return rows


def loads(found: Costs) -> list[Row]:
    """One node under a growing load by a few workers: what its batches are like."""
    rate = 1e6 / found.mean(SITE)
    fleets = [Fleet(1, ASKING, share * rate, paths=PATHS) for share in ASKED]
    return [{"workers": ASKING, **asdict(simulate(fleet, found))} for fleet in fleets]


def placement() -> list[Row]:
    rows = []
    for nodes in NODES[1:]:
        groups = groups_by_node(nodes)
        rows.append(
            {
                "nodes": nodes,
                "least": min(groups),
                "most": max(groups),
                "hottest": {str(s): max(shares_by_node(nodes, PATHS, s)) for s in EXPONENTS},
            }
        )
    return rows


def check(measured: Row, found: Costs, stored: dict[str, Any]) -> list[Row]:
    """Figures that were both measured and worked out, side by side."""
    us = stored["levels"]["everysec"]
    # The bench's own row: one worker that is never idle, one server.
    one = replace(found, request={"view": 1e6 / us["rate@64"]})
    fleet = Fleet(1, 1, us["rate@64"], {"view": 1.0}, paths=10_000)
    sizes = [(row["fill"], row["bytes"]) for row in measured["fills"] if row["limit"] == 512]
    (million,) = measured["million"]
    return [
        {
            "what": "Redis µs of an increment, one worker that is never idle",
            "said": simulate(fleet, one).node_us,
            "measured": us["redis_us@64"],
        },
        {
            "what": "bytes of a counter, a million in 16,384 buckets",
            "said": between(sizes, costs.MILLION / costs.BUCKETS),
            "measured": million["bytes"],
        },
    ]


# The command.


def log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each) for each in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.capacity.scale")
    parser.add_argument("--noisy", action="store_true", help="keep what others disturbed")
    options = parser.parse_args(words)
    results: dict[str, Any] = {"when": date.today().isoformat(), "commit": commit()}
    results["measured"] = measured = uvloop.run(measure())
    results["foreign"] = foreign = sorted(row["foreign"] for row in rows_of(measured))
    if is_noisy(foreign[-1]) and not options.noisy:
        log(
            f"Others used up to {foreign[-1]:.0%} of these cores during "
            f"{sum(map(is_noisy, foreign))} of {len(foreign)} rows: nothing is written; measure "
            "again, or keep them with --noisy"
        )
        return 1
    results["assumed"] = {
        "busy": BUSY,
        "paths": PATHS,
        "mix": SITE,
        "trip_us": TRIP_US,
        "p99_us": P99_US,
    }
    results["stored"] = stored()
    found = costs_of(measured["batches"], results["stored"])
    results["groups"] = uvloop.run(of_groups())
    results["costs"] = asdict(found)
    results["check"] = check(measured, found, results["stored"])
    results["placement"] = placement()
    results["loads"] = loads(found)
    results["fleets"] = fleets(found)
    results = rounded(results)
    FILE.write_text(lines(results) + "\n")
    log(f"wrote {FILE}")
    for document in plan.DOCUMENTS:
        document.write_text(plan.filled(document.read_text(), results))
        log(f"wrote {document}")
    for picture in plots.draw_scale(results, ROOT / "docs" / "pictures"):
        log(f"wrote {picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

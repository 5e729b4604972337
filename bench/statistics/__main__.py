"""What statistics cost, as tables in bench/results/statistics.md.

    python -m bench.statistics [memory | rates] [--rounds N] [--seconds N] [--noisy]
                               [--durability everysec | always | none]

`memory` asks Redis what each key takes, which nothing else on the machine disturbs. `rates` sends
requests for some minutes, and needs wrk and two quiet cores. Without either word it does both. The
figures go to results/statistics-memory.json and to results/statistics.json.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from math import inf
from pathlib import Path

import uvloop

from .. import machine, wrk
from ..results import lines
from ..stats import NOISE
from . import memory, rates, tables

PARTS = ("memory", "rates")


def main(words: Sequence[str]) -> int:
    options = _options(words)
    if not machine.is_linux():
        print("the bench reads /proc and so runs on Linux only")
        return 2
    parts = [options.part] if options.part else PARTS
    if "rates" in parts and not wrk.program():
        print("there is no wrk; bench/install.sh installs it")
        return 2
    with tempfile.TemporaryDirectory(prefix="ffb") as name:
        if "memory" in parts:
            tables.MEMORY.write_text(lines(uvloop.run(memory.measure(Path(name)))) + "\n")
        if "rates" in parts:
            rates.measure(_plan(options), Path(name)).write(tables.RATES)
    tables.DOCUMENT.write_text(tables.filled(tables.DOCUMENT.read_text()))
    return 0


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench.statistics", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("part", nargs="?", choices=PARTS, help="what to measure; both")
    parser.add_argument("--rounds", type=int, default=5, help="how often the services take turns")
    parser.add_argument("--seconds", type=int, default=2, help="of each run")
    parser.add_argument(
        "--durability",
        default="everysec",
        choices=("always", "everysec", "none"),
        help="of all of them; everysec, where a core is the limit and not the disk",
    )
    parser.add_argument(
        "--noisy", action="store_true", help="keep what others spoil: CPU time is still right"
    )
    return parser.parse_args(words)


def _plan(options: argparse.Namespace) -> rates.Plan:
    noise = inf if options.noisy else NOISE
    return rates.Plan(options.rounds, options.seconds, noise, options.durability)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

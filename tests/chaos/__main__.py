"""The long form of the faults, for `make chaos`: more rounds, longer troubles, and a table.

The table says what was seen on one day on one machine; nothing that is in it is asserted elsewhere.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from . import table
from .faults import FAULTS
from .play import Force, play


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("python -m tests.chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="that a trouble lasts")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--rate", type=float, default=500.0, help="requests a second")
    parser.add_argument("--only", default="", metavar="WORDS", help="faults that are named so")
    asked = parser.parse_args(words)
    force = Force(asked.rounds, asked.seconds, 1.5, asked.connections, asked.rate, slower=3)
    start, rows, has_failed = time.monotonic(), [], False
    print(table.head(table.COLUMNS))
    for fault in FAULTS:
        if asked.only not in fault.name:
            continue
        try:
            with tempfile.TemporaryDirectory(prefix="ff") as directory:
                outcome = play(fault, Path(directory), force)
        except Exception as error:
            # Whatever it is: the others are to be played all the same.
            rows.append(table.failed(fault, error))
            problems = [repr(error)]
        else:
            rows.append(table.row(outcome))
            problems = outcome.problems
        print(rows[-1], *problems, sep="\n", flush=True)
        has_failed |= bool(problems)
    if not asked.only:
        # A part of them is not a table of all.
        table.write(table.text(force, rows, (time.monotonic() - start) / 60))
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

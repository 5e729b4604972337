"""The long form of the faults, for `make chaos`: more rounds, longer troubles, and a table.

The table says what was seen on one day on one machine; nothing that is in it is asserted elsewhere.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from service import __version__

from .faults import FAULTS
from .play import Force, Outcome, play

TABLE = Path(__file__).parents[2] / "docs" / "faults.md"
COLUMNS = (
    "Fault", "What was done", "Accepted", "Counted", "Unknown", "Verdict", "Comments", "Hung",
    "Longest outage", "Recovery", "Check",
)  # fmt: skip
HEAD = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}"


def row(outcome: Outcome) -> str:
    report, comments = outcome.report, outcome.writer
    total = report.ledger.total
    check = f"{outcome.repaired} repaired" if outcome.repaired else "clean"
    cells = [
        outcome.fault.name,
        outcome.fault.what,
        f"{total.accepted:,}",
        f"{total.counted:,}",
        f"{total.unknown:,}",
        "exact" if report.is_sound else f"**{report.verdict}**",
        f"{len(comments.accepted):,} + {len(comments.unknown):,}",
        f"{report.ledger.hung + comments.hung}",
        f"{report.ledger.longest_outage:.1f} s",
        f"{max(outcome.recoveries):.2f} s",
        f"**{len(outcome.problems)} PROBLEMS**" if outcome.problems else check,
    ]
    return f"| {' | '.join(cells)} |"


def text(force: Force, rows: Sequence[str], minutes: float) -> str:
    return f"""\
# Faults

What `make chaos` did to Footfall {__version__} on {time.strftime("%Y-%m-%d")}, each fault
{force.rounds} times in a row, in {minutes:.0f} minutes: {force.connections} clients with
{force.rate:,.0f} requests a second, and one that comments; REDIS_TIMEOUT {force.timeout:g} s,
troubles that have to last {force.seconds:g} s. A private Redis is the Valkey of the package, an own
one Debian's Redis.

*Accepted* increments were told a count, *unknown* ones had no answer or a 503; exact is whatever
was counted from accepted to accepted + unknown, on every path. *Comments* are accepted + unknown:
each accepted one is there once, afterwards. *Longest outage* is the longest time in which nobody
was answered, the fault's own time with it; *recovery* is from the end of the fault to the next
increment that was accepted, at worst. *Hung* requests had no answer in ten seconds. *Check* is
what `footfall check` said afterwards; `--repair` is for the step between a comment and the site's
indexes that a killed service could not take.

{HEAD}
{chr(10).join(rows)}
"""


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("python -m tests.chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="that a trouble lasts")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--rate", type=float, default=500.0, help="requests a second")
    parser.add_argument("--only", default="", metavar="WORDS", help="faults that are named so")
    asked = parser.parse_args(words)
    force = Force(asked.rounds, asked.seconds, 1.5, asked.connections, asked.rate)
    start, rows, failed = time.monotonic(), [], 0
    print(HEAD)
    for fault in FAULTS:
        if asked.only not in fault.name:
            continue
        with tempfile.TemporaryDirectory(prefix="ff") as directory:
            outcome = play(fault, Path(directory), force)
        rows.append(row(outcome))
        print(rows[-1], *outcome.problems, sep="\n", flush=True)
        failed += bool(outcome.problems)
    if not asked.only:
        # A part of them is no table of all.
        TABLE.write_text(text(force, rows, (time.monotonic() - start) / 60))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

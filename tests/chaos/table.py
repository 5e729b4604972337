"""Writes what `make chaos` found: bench/results/faults.md, and from it docs/faults.md's table."""

import time
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

from footfall import __version__

from .faults import FAULTS, Fault
from .play import Force, Outcome

ROOT = Path(__file__).parents[2]
FILE = ROOT / "bench/results/faults.md"
DOCUMENT = ROOT / "docs/faults.md"
COLUMNS = (
    "Fault",
    "What was done",
    "Accepted",
    "Counted",
    "Unknown",
    "Verdict",
    "Comments",
    "Hung",
    "Longest outage",
    "Recovery",
    "Others' p99",
    "Told",
    "Moderated",
    "Check",
)


SHORT = ("Fault", "Longest outage", "Recovery", "Check")


def line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def head(columns: Sequence[str]) -> str:
    return f"{line(columns)}\n|{'---|' * len(columns)}"


def row(outcome: Outcome) -> str:
    report, comments = outcome.report, outcome.writer
    total = report.ledger.total
    return line(
        [
            outcome.fault.name,
            outcome.fault.what,
            f"{total.accepted:,}",
            f"{total.counted:,}",
            f"{total.unknown:,}",
            "exact" if report.ledger.is_exact else f"**{report.verdict}**",
            f"{len(comments.accepted):,} + {len(comments.unknown):,}",
            f"{report.hung + comments.hung}",
            f"{report.longest_outage:.1f} s",
            f"{max(outcome.recoveries):.2f} s",
            beside(outcome),
            told(outcome),
            moderated(outcome),
            f"**{len(outcome.problems)} PROBLEMS**" if outcome.problems else "clean",
        ]
    )


def beside(outcome: Outcome) -> str:
    """The p99 of clients of other nodes: before the fault, and during it, each at worst."""
    if not outcome.visits:
        return ""
    befores, meanwhiles = zip(*outcome.visits, strict=True)
    before, meanwhile = (max(visit.p99_ms for visit in visits) for visits in (befores, meanwhiles))
    return f"{before:.1f} → {meanwhile:.1f} ms"


def told(outcome: Outcome) -> str:
    """Of how many comments the web server was told, and of how many more than once."""
    if outcome.told is None:
        return ""
    again = sum(times > 1 for times in outcome.told.values())
    return f"{len(outcome.told):,}, {again} twice" if again else f"{len(outcome.told):,}"


def moderated(outcome: Outcome) -> str:
    """How many actions of moderators were done, and how many had no answer."""
    found = outcome.moderators
    if found is None or not found.number:
        return ""
    return f"{found.done.total():,} + {found.unknown.total():,}"


def failed(fault: Fault, error: Exception) -> str:
    """The row of a fault that was not played to its end: the reason is in place of figures."""
    words = " ".join(str(error).split()).replace("|", "/") or type(error).__name__
    blank = [""] * (len(COLUMNS) - 4)
    return line([fault.name, fault.what, *blank, f"**{words[:200]}**", "**FAILED**"])


def short(full: str) -> str:
    """The table of the document, from all results."""
    cells = [row.strip("| ").split(" | ") for row in full.splitlines() if row.startswith("| ")]
    chosen = [COLUMNS.index(name) for name in SHORT]
    rows = [line([row[at].strip() for at in chosen]) for row in cells[1:]]
    return "\n".join([head(SHORT), *rows]) + "\n"


def write(full: str) -> None:
    FILE.write_text(full)
    before = DOCUMENT.read_text().partition(line(SHORT))[0]
    DOCUMENT.write_text(before + short(full))


def allowed() -> str:
    """How long a recovery may take, and which ones may take longer."""
    words = f"It may be {Fault.seconds:g} s"
    for seconds in sorted({fault.seconds for fault in FAULTS} - {Fault.seconds}):
        names = ", ".join(fault.name for fault in FAULTS if fault.seconds == seconds)
        words += f", and {seconds:g} s for: {names}"
    return fill(f"{words}.", 98, initial_indent="  ", subsequent_indent="  ")


def text(force: Force, rows: Sequence[str], minutes: float) -> str:
    return f"""\
# Faults

For those who want to know what a failure does to the service: what `make chaos` did to Footfall
{__version__} on {time.strftime("%Y-%m-%d")}. It played each fault {force.rounds} times in a row,
under {force.rate:,.0f} requests a second of {force.connections} clients, while one more client
wrote comments. That took {minutes:.0f} minutes; rows of other runs are named above the table.
REDIS_TIMEOUT was {force.timeout:g} s, and faults that need a duration lasted {force.seconds:g} s.
A *private Redis* is the Valkey of the package.
An *own Redis*, the servers behind Sentinels and the nodes of a Cluster are Debian's Redis. Behind
Sentinels and on a Cluster a failed master is noticed after a second, each has one replica, and
DURABILITY=replica:1.

- *Accepted* increments were answered with a count; *unknown* ones had no answer, or a 503. The
  verdict is *exact* if on every path accepted ≤ counted ≤ accepted + unknown.
- *Comments* are accepted + unknown; each accepted one was there once, afterwards.
- *Hung* requests had no answer within ten seconds.
- *Longest outage* is the longest time in which nobody was answered, including the fault itself.
- *Recovery* is the time from the end of the fault to the next accepted increment, in the worst
  round.
{allowed()}
  Behind Sentinels and on a Cluster the fault ends when the failed master has been restarted: until
  it is a replica, nothing can be acknowledged.
- *Others' p99* is the latency for a client that reads and counts what is on a Cluster's other
  nodes: before the fault and during it, in the worst round. None of its requests failed, and no
  fault tripled its latency.
- *Told* is the number of comments that a web server was told of: each accepted one, at least
  once. Only what was under way when a process was killed may have been told twice.
- *Moderated* is the number of actions that moderators were told to be done, and of those whose
  answers were lost. The log had each of the first, and besides them only some of the others.
- *Check* is the result of `footfall check` afterwards, without any repair.

{head(COLUMNS)}
{chr(10).join(rows)}
"""

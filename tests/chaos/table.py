"""What the long form of the faults found, as docs/faults.md."""

import time
from collections.abc import Sequence
from pathlib import Path

from footfall import __version__

from .faults import FAULTS, Fault
from .play import Force, Outcome

FILE = Path(__file__).parents[2] / "docs" / "faults.md"
COLUMNS = (
    "Fault", "What was done", "Accepted", "Counted", "Unknown", "Verdict", "Comments", "Hung",
    "Longest outage", "Recovery", "Others' p99", "Check",
)  # fmt: skip


def line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def head(columns: Sequence[str]) -> str:
    return f"{line(columns)}\n|{'---|' * len(columns)}"


def row(outcome: Outcome) -> str:
    report, comments = outcome.report, outcome.writer
    total = report.ledger.total
    check = f"{outcome.repaired} repaired" if outcome.repaired else "clean"
    return line([
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
        beside(outcome),
        f"**{len(outcome.problems)} PROBLEMS**" if outcome.problems else check,
    ])  # fmt: skip


def beside(outcome: Outcome) -> str:
    """What others wait for whose nodes are in no trouble: before it, and at worst meanwhile."""
    if not outcome.visits:
        return ""
    befores, meanwhiles = zip(*outcome.visits, strict=True)
    before, meanwhile = (max(each.p99_ms for each in visits) for visits in (befores, meanwhiles))
    return f"{before:.1f} → {meanwhile:.1f} ms"


def failed(fault: Fault, error: Exception) -> str:
    """One that was not played to its end, and says why where its figures would be."""
    words = " ".join(str(error).split()).replace("|", "/") or type(error).__name__
    blank = [""] * (len(COLUMNS) - 4)
    return line([fault.name, fault.what, *blank, f"**{words[:200]}**", "**FAILED**"])


def text(force: Force, rows: Sequence[str], minutes: float) -> str:
    slow = ", ".join(f"{each.name} {each.seconds:g} s" for each in FAULTS if each.seconds != 10)
    return f"""\
# Faults

What `make chaos` did to Footfall {__version__} on {time.strftime("%Y-%m-%d")}, each fault
{force.rounds} times in a row, in {minutes:.0f} minutes: {force.connections} clients with
{force.rate:,.0f} requests a second, and one that comments; REDIS_TIMEOUT {force.timeout:g} s,
troubles that have to last {force.seconds:g} s. A private Redis is the Valkey of the package, an own
one, those behind Sentinels and the nodes of a Cluster are Debian's Redis; the last two are missed
after a second, have one replica each and DURABILITY=replica:1.

*Accepted* increments were told a count, *unknown* ones had no answer or a 503; exact is whatever
was counted from accepted to accepted + unknown, on every path. *Comments* are accepted + unknown:
each accepted one is there once, afterwards. *Longest outage* is the longest time in which nobody
was answered, the fault's own time with it; *recovery* is from the end of the fault to the next
increment that was accepted, at worst, and may be 10 s ({slow}). On Sentinels and a Cluster the
fault ends when the failed master has been started again: until it is a replica, nothing can be
acknowledged. *Hung* requests had no answer in ten seconds. *Others' p99* is of somebody who reads
and counts what lies on a Cluster's other nodes, before the fault and while it lasts, each at worst;
of these requests none failed, and no fault made it three times as long. *Check* is what
`footfall check` said afterwards; `--repair` is for the step between a comment and the site's
indexes that a killed service could not take.

{head(COLUMNS)}
{chr(10).join(rows)}
"""

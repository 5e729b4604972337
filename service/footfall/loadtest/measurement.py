"""`footfall bench` and `footfall verify`: rows of load on one server, one ledger, one report.

`bench` measures a running server row by row, and whether every count is exact. `verify` sends one
mix for as long as you like, while you restart or unplug parts of the deployment; there only counts
matter. Both change only counters of paths in a namespace of their own; comments are only read.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..model import OnProgress
from ..plurals import number_of
from .exchange import RESPONSE_SECONDS
from .interrupt import until_interrupted
from .ledger import Ledger
from .load import Load, Row
from .target import CannotMeasure, Target
from .workload import LoadRequest, Workload

Draw = Callable[[Workload], Iterator[LoadRequest]]

BENCH_ROWS: tuple[tuple[str, Draw], ...] = (
    ("read one count", Workload.reads),
    ("count a view", Workload.views),
    ("read 50 counts", Workload.lists),
    ("read a comment page", Workload.pages),
    ("mixed as on a real site", Workload.site),
)
BENCH_PATHS = 1_000
# Above this share of a core, the generator was measured and not the server.
GENERATOR_BOUND = 0.9
INTERRUPTED = 130
TABLE_HEAD = f"{'':26}{'requests/s':>11}{'p50 ms':>10}{'p99 ms':>10}{'p99.9 ms':>10}{'errors':>9}"
# A server may store a count a little after its response; after this time a missing count is lost.
SETTLE_SECONDS = 2.0
POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Plan:
    """`seconds` is for all rows together; `rate`, in requests per second, is for the last one.

    If no request is answered for `retry_for` seconds, a row ends.
    """

    seconds: float
    connections: int
    paths: int = 100
    rate: float | None = None
    retry_for: float = 30.0


@dataclass(frozen=True, slots=True)
class BenchPlan(Plan):
    """The comments of `article` are read; without it, those of a path that has none."""

    paths: int = BENCH_PATHS
    retry_for: float = 2.0
    article: str | None = None


@dataclass(frozen=True, slots=True)
class Cleanup:
    """The result for the counters: a line of the report, and whether the user chose it."""

    line: str
    is_as_asked: bool


@dataclass
class Report:
    """`unread` is why the counts could not be read back, else ""."""

    target: Target
    namespace: str
    plan: Plan
    ledger: Ledger
    rows: list[Row] = field(default_factory=list)
    unread: str = ""
    is_interrupted: bool = False
    # None until it is known.
    cleanup: Cleanup | None = None

    @property
    def is_bench(self) -> bool:
        return isinstance(self.plan, BenchPlan)

    @property
    def is_unsure(self) -> bool:
        """May the server still count increments that it has not answered?"""
        return bool(self.ledger.total.unknown)

    @property
    def hung(self) -> int:
        return sum(row.hung for row in self.rows)

    @property
    def longest_outage(self) -> float:
        return max((row.longest_outage for row in self.rows), default=0.0)

    @property
    def gave_up(self) -> str:
        return next((row.gave_up for row in self.rows if row.gave_up), "")

    @property
    def code(self) -> int:
        """The exit code: 0 if every count is exact and, in a bench, every request was answered."""
        # If nothing was accepted, nothing was confirmed.
        if not self.ledger.is_exact or self.gave_up:
            return 1
        if self.cleanup is not None and not self.cleanup.is_as_asked:
            return 1
        if self.is_bench and any(row.failed for row in self.rows):
            return 1
        if self.is_interrupted:
            return INTERRUPTED
        return 0 if self.ledger.total.accepted else 1

    @property
    def verdict(self) -> str:
        return self.ledger.verdict(self.unread)

    def head(self) -> Iterator[str]:
        """The lines before the first row."""
        yield f"{self.target.address}: {self.target.name}"
        connections = number_of(self.plan.connections, "connection")
        yield f"{connections}; {number_of(self.plan.paths, 'path')}, {self.namespace}*"

    def lines(self) -> Iterator[str]:
        yield TABLE_HEAD
        yield from map(_as_text, self.rows)
        yield ""
        for row in self.rows:
            yield from _troubles(row)
        if self.is_interrupted:
            yield "Stopped early; this is what was measured so far."
        busy = max((row.busy for row in self.rows), default=0.0)
        yield f"The generator is one thread of Python, {busy:.0%} busy at most."
        if busy > GENERATOR_BOUND:
            yield "Where a row is generator-bound, it shows that limit: the server can do more."
        yield f"Longest outage: {self.longest_outage:.1f} seconds"
        yield f"Hung: {self.hung:,} without a response in {RESPONSE_SECONDS:.0f} seconds"
        if self.ledger.wrong:
            yield f"Responses: {self.ledger.wrong:,} WRONG"
            yield from (f"  {text}" for text in self.ledger.wrongs)
        else:
            yield "Responses: no count twice, none below what was known"
        if self.cleanup is not None:
            yield self.cleanup.line
        yield f"Increments: {self.verdict}"

    def as_json(self) -> dict[str, Any]:
        ledger, total = self.ledger, self.ledger.total
        return {
            "url": str(self.target.address),
            "server": self.target.name,
            "is_footfall": self.target.footfall is not None,
            "namespace": self.namespace,
            "connections": self.plan.connections,
            "rows": [_as_json(row) for row in self.rows],
            "increments": {
                "sent": sum(ledger.sent.values()),
                "accepted": total.accepted,
                "unknown": total.unknown,
                "refused": ledger.refused,
                "counted": total.counted if ledger.counted else None,
                "is_exact": ledger.is_exact,
                "verdict": self.verdict,
            },
            "reads": ledger.reads,
            "hung": self.hung,
            "wrong": ledger.wrong,
            "wrongs": ledger.wrongs,
            "longest_outage": round(self.longest_outage, 3),
            "gave_up": self.gave_up,
            "is_interrupted": self.is_interrupted,
            "counters": self.cleanup.line if self.cleanup else "",
            "exit": self.code,
        }


def _is_generator_bound(row: Row) -> bool:
    return row.busy > GENERATOR_BOUND


def _as_text(row: Row) -> str:
    times = "".join(f"{row.latency.at(share) / 1000:10,.2f}" for share in (0.5, 0.99, 0.999))
    mark = "  generator-bound" if _is_generator_bound(row) else ""
    return f"{row.name:26}{row.reached:11,.0f}{times}{row.failed:9,}{mark}"


def _troubles(row: Row) -> Iterator[str]:
    for text, n in row.troubles.most_common():
        yield f"{row.name}: {n:,} x {text}"
    if row.gave_up:
        yield f"{row.name}: {row.gave_up}"
    elif unsent := row.planned - row.sent:
        who = "generator" if _is_generator_bound(row) else "server"
        yield f"{row.name}: {unsent:,} not sent in time, more than the {who} can send"


def _as_json(row: Row) -> dict[str, Any]:
    at = row.latency.at
    return {
        "name": row.name,
        "seconds": round(row.seconds, 3),
        "rate": round(row.reached, 1),
        "p50_us": at(0.5),
        "p99_us": at(0.99),
        "p999_us": at(0.999),
        "max_us": row.latency.greatest,
        "planned": row.planned,
        "sent": row.sent,
        "accepted": row.accepted,
        "refused": row.refused,
        "broken": row.broken,
        "errors": row.failed,
        "generator_busy": round(row.busy, 3),
        "is_generator_bound": _is_generator_bound(row),
        "troubles": list(_troubles(row)),
    }


class Measurement:
    """Runs once, in any thread; `report` may be read meanwhile.

    It counts the given paths, or as many as planned below the namespace. Raises CannotMeasure.
    """

    def __init__(self, url: str, plan: Plan, namespace: str, paths: Sequence[str] = ()) -> None:
        self._target = target = Target.find(url, namespace)
        self._plan = plan
        paths = paths or [f"{namespace}{n:04d}" for n in range(plan.paths)]
        article = plan.article if isinstance(plan, BenchPlan) else None
        self._workload = Workload(target, paths, article)
        self._load: Load | None = None
        self.report = Report(target, namespace, plan, Ledger(paths))

    def stop(self) -> None:
        """Send nothing more, and report the results so far."""
        self.report.is_interrupted = True
        if self._load is not None:
            self._load.stop()

    def run(self, on_progress: OnProgress = lambda label, share: None) -> Report:
        if self.report.is_bench:
            self._bench(on_progress)
        else:
            self._row(Row("verifying", self._plan.rate), Workload.checks, 1, on_progress)
        self._read_back()
        return self.report

    def run_interruptibly(self, on_progress: OnProgress) -> Report:
        """The first Ctrl-C or SIGTERM ends it early: the results so far are reported."""
        with until_interrupted(self.stop):
            return self.run(on_progress)

    def _bench(self, on_progress: OnProgress) -> None:
        rows, n = self.report.rows, len(BENCH_ROWS) + 1
        for name, draw in BENCH_ROWS:
            self._row(Row(name), draw, n, on_progress)
        # Half of the highest rate shows how long visitors wait on a busy day.
        rate = self._plan.rate or (rows[-1].reached / 2 if rows else 0)
        if rate:
            self._row(Row(f"the same at {rate:,.0f}/s", rate), Workload.site, n, on_progress)

    def _row(self, row: Row, draw: Draw, n: int, on_progress: OnProgress) -> None:
        report, plan, done = self.report, self._plan, len(self.report.rows)
        if report.is_interrupted:
            return
        report.rows.append(row)
        self._load = Load(
            row,
            draw(self._workload),
            self._target.address,
            report.ledger,
            connections=plan.connections,
            retry_for=plan.retry_for,
        )
        if report.is_interrupted:
            self._load.stop()
        self._load.run(plan.seconds / n, lambda share: on_progress(row.name, (done + share) / n))

    def _read_back(self) -> None:
        report, ledger, start = self.report, self.report.ledger, time.monotonic()
        while True:
            try:
                ledger.read_back(self._target.counted(ledger.paths))
                report.unread, patience = "", SETTLE_SECONDS
            except CannotMeasure as error:
                report.unread, patience = str(error), max(self._plan.retry_for, SETTLE_SECONDS)
            is_settled = not report.unread and all(
                verdict.counted >= verdict.accepted for verdict in ledger.verdicts.values()
            )
            if is_settled or time.monotonic() - start > patience:
                break
            time.sleep(POLL_SECONDS)
        ledger.close()

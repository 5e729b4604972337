"""`footfall bench`: measures a running server, row by row, and whether every count is exact.

It changes only counters of paths in a namespace of its own. Comments are only read.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from ..model import OnProgress, OnShare
from .interrupt import until_interrupted
from .load import Generator, Outcome, Verdict
from .report import BenchReport, BenchRow
from .target import CannotMeasure, Target, reason
from .workload import Workload

Draw = Callable[[Workload], list[bytes]]
Run = Callable[[Generator, OnShare], Outcome]

ROWS: tuple[tuple[str, Draw], ...] = (
    ("read one count", Workload.reads),
    ("count a view", Workload.views),
    ("read 50 counts", Workload.lists),
    ("read a comment page", Workload.pages),
    ("mixed as on a real site", Workload.site),
)
# A server may store a count a little after its answer; after this time a missing count is lost.
SETTLE_SECONDS = 2.0
POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Plan:
    """`seconds` is for all rows together; `rate`, in requests a second, is for the last row.

    The comments of `article` are read; without it, those of a path that has none.
    """

    seconds: float
    connections: int
    rate: float | None = None
    article: str | None = None

    @property
    def share(self) -> float:
        return self.seconds / (len(ROWS) + 1)


def prepare(url: str, plan: Plan, *, namespace: str) -> "Measurement":
    """Find out which server this is. Raises CannotMeasure."""
    target = Target.find(url, namespace)
    return Measurement(target, Workload(target, namespace, plan.article), plan)


class Measurement:
    def __init__(self, target: Target, mix: Workload, plan: Plan) -> None:
        self._target = target
        self._mix = mix
        self._plan = plan
        self._generator: Generator | None = None
        self.report = BenchReport(target, mix.namespace, mix.paths, plan.connections)

    def run(self, on_progress: OnProgress) -> BenchReport:
        """Measure. The first Ctrl-C or SIGTERM ends it early: what was measured is reported."""
        with until_interrupted(self._stop):
            try:
                self._measure(on_progress)
            except OSError as error:
                self.report.ended = f"Ended early, as no connection can be made: {reason(error)}"
            self._read_back()
        return self.report

    def _measure(self, on_progress: OnProgress) -> None:
        share, rows = self._plan.share, self.report.rows
        for name, draw in ROWS:
            self._row(
                name, draw, on_progress, lambda each, on_progress: each.closed(share, on_progress)
            )
        # Half of the highest rate shows how long visitors wait on a busy day.
        rate = self._plan.rate or (rows[-1].outcome.rate / 2 if rows else 0)
        if rate:
            name = f"the same at {rate:,.0f}/s"
            self._row(
                name,
                Workload.site,
                on_progress,
                lambda each, on_progress: each.open(rate, share, on_progress),
            )

    def _row(self, name: str, draw: Draw, on_progress: OnProgress, run: Run) -> None:
        report = self.report
        if report.is_interrupted:
            return
        done = len(report.rows)
        url, templates = str(self._target.address), draw(self._mix)
        generator = self._generator = Generator(url, templates, connections=self._plan.connections)
        if report.is_interrupted:
            generator.stop()

        def progress(share: float) -> None:
            on_progress(name, (done + share) / (len(ROWS) + 1))

        outcome = run(generator, progress)
        progress(1)
        report.rows.append(BenchRow(name, outcome))

    def _stop(self) -> None:
        self.report.is_interrupted = True
        if self._generator is not None:
            self._generator.stop()

    def _read_back(self) -> None:
        report = self.report
        deadline = time.monotonic() + SETTLE_SECONDS
        try:
            while True:
                counted = sum(self._target.counted(self._mix.paths))
                report.verdict = Verdict(report.changed, counted, report.unsure)
                if counted >= report.changed or time.monotonic() > deadline:
                    return
                time.sleep(POLL_SECONDS)
        except CannotMeasure as error:
            report.unread = str(error)

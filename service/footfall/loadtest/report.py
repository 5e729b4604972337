"""The report of `footfall bench`, as text and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..plurals import number_of
from .load import Outcome, Verdict
from .target import Target

# Above this share of a core, the generator was measured and not the server.
GENERATOR_BOUND = 0.9
INTERRUPTED = 130
TABLE_HEAD = f"{'':26}{'requests/s':>11}{'p50 ms':>10}{'p99 ms':>10}{'p99.9 ms':>10}{'errors':>9}"


@dataclass(frozen=True, slots=True)
class Ending:
    """What became of the counters: a line of the report, and whether the user asked for that."""

    line: str
    is_as_asked: bool


@dataclass(frozen=True, slots=True)
class BenchRow:
    name: str
    outcome: Outcome

    @property
    def is_generator_bound(self) -> bool:
        return self.outcome.busy > GENERATOR_BOUND

    def as_text(self) -> str:
        outcome, at = self.outcome, self.outcome.latency.at
        times = "".join(f"{at(share) / 1000:10,.2f}" for share in (0.5, 0.99, 0.999))
        mark = "  generator-bound" if self.is_generator_bound else ""
        return f"{self.name:26}{outcome.rate:11,.0f}{times}{outcome.failed:9,}{mark}"

    def troubles(self) -> Iterator[str]:
        outcome = self.outcome
        for words, n in outcome.refusals.most_common():
            yield f"{self.name}: {n:,} refused with {words}"
        if outcome.broken:
            broken = number_of(outcome.broken, "connection")
            yield f"{self.name}: {broken} broke before the answer was there"
        if unanswered := outcome.in_flight - outcome.broken:
            yield f"{self.name}: {unanswered:,} not answered in time"
        if outcome.gave_up:
            yield f"{self.name}: given up; the last failure was: {outcome.gave_up}"
        elif unsent := outcome.planned - outcome.sent:
            who = "generator" if self.is_generator_bound else "server"
            yield f"{self.name}: {unsent:,} not sent in time, which is more than the {who} carries"

    def as_json(self) -> dict[str, Any]:
        outcome, at = self.outcome, self.outcome.latency.at
        return {
            "name": self.name,
            "seconds": round(outcome.seconds, 3),
            "rate": round(outcome.rate, 1),
            "p50_us": at(0.5),
            "p99_us": at(0.99),
            "p999_us": at(0.999),
            "max_us": outcome.latency.greatest,
            "planned": outcome.planned,
            "sent": outcome.sent,
            "accepted": outcome.accepted,
            "refused": outcome.refused,
            "broken": outcome.broken,
            "errors": outcome.failed,
            "generator_busy": round(outcome.busy, 3),
            "is_generator_bound": self.is_generator_bound,
            "troubles": list(self.troubles()),
        }


@dataclass
class BenchReport:
    """`unread` is why the counts could not be read back, `ended` why rows are missing; else ""."""

    target: Target
    namespace: str
    paths: Sequence[str]
    connections: int
    rows: list[BenchRow] = field(default_factory=list)
    verdict: Verdict | None = None
    unread: str = ""
    ended: str = ""
    is_interrupted: bool = False
    # What became of the counters, once that is known.
    ending: Ending | None = None

    @property
    def changed(self) -> int:
        return sum(row.outcome.changed for row in self.rows)

    @property
    def unsure(self) -> int:
        return sum(row.outcome.unsure for row in self.rows)

    @property
    def is_unsure(self) -> bool:
        """May the server still count increments that it has not answered?"""
        return self.unsure > 0

    @property
    def code(self) -> int:
        """The exit code: 0 if every count is exact and every request was answered well."""
        is_exact = self.verdict is not None and self.verdict.is_exact
        if not is_exact or self.ended or any(row.outcome.failed for row in self.rows):
            return 1
        if self.ending is not None and not self.ending.is_as_asked:
            return 1
        if self.is_interrupted:
            return INTERRUPTED
        # If nothing was counted, nothing was proved.
        return 0 if self.changed else 1

    def head(self) -> Iterator[str]:
        """The lines before the first row."""
        yield f"{self.target.address}: {self.target.name}"
        yield f"{number_of(self.connections, 'connection')}; counters of {self.namespace}*"

    def lines(self) -> Iterator[str]:
        yield TABLE_HEAD
        yield from (row.as_text() for row in self.rows)
        yield ""
        for row in self.rows:
            yield from row.troubles()
        if self.ended:
            yield self.ended
        if self.is_interrupted:
            yield "Stopped early; this is what was measured so far."
        busy = max((row.outcome.busy for row in self.rows), default=0.0)
        yield f"The generator is one thread of Python, {busy:.0%} busy at most."
        if busy > GENERATOR_BOUND:
            yield "Where a row is generator-bound, it shows that limit: the server can do more."
        if self.ending is not None:
            yield self.ending.line
        yield f"Increments: {self.verdict or self._unread()}"

    def _unread(self) -> str:
        return f"accepted {self.changed:,}, but the counts cannot be read: {self.unread}"

    def as_json(self) -> dict[str, Any]:
        verdict = self.verdict
        return {
            "url": str(self.target.address),
            "server": self.target.name,
            "is_footfall": self.target.footfall is not None,
            "namespace": self.namespace,
            "connections": self.connections,
            "rows": [row.as_json() for row in self.rows],
            "ended": self.ended,
            "is_interrupted": self.is_interrupted,
            "counters": self.ending.line if self.ending else "",
            "increments": {
                "accepted": self.changed,
                "unsure": self.unsure,
                "counted": verdict.counted if verdict else None,
                "is_exact": verdict.is_exact if verdict else None,
                "verdict": str(verdict or self._unread()),
            },
            "exit": self.code,
        }

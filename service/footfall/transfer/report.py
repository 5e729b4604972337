"""The result of an import: numbers for the summary, and a line for each changed or rejected row."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

import orjson

from .rows import Kind, Refusal

# `stored` is new, `there` was imported before; `changed` rows are stored, too. `joined`: several
# pages there are one page here; `renamed`: a page has another name here.
Outcome = Literal["read", "stored", "there", "changed", "refused", "joined", "renamed"]
OUTCOMES: tuple[Outcome, ...] = ("read", "stored", "there", "changed", "refused")
KINDS: tuple[Kind, ...] = ("comments", "counters", "accounts")
# A place in the other system's file, as shown to users.
MAX_WHERE_CHARACTERS = 200


class ImportReport:
    """`write` gets a line of JSON for each changed or rejected row."""

    def __init__(self, write: Callable[[bytes], object] = lambda line: None) -> None:
        self._write = write
        self.numbers: Counter[tuple[Kind, Outcome]] = Counter()
        # (kind, outcome, why) -> how often; the reasons are constants, so they are few.
        self.reasons: Counter[tuple[Kind, Outcome, str]] = Counter()
        self.examples: dict[tuple[Kind, Outcome, str], str] = {}

    def count(self, kind: Kind, outcome: Outcome, number: int = 1) -> None:
        self.numbers[kind, outcome] += number

    def refuse(self, refusal: Refusal) -> None:
        self._note(refusal.kind, "refused", refusal.where, refusal.why)

    def join(self, kind: Kind, where: str, why: str) -> None:
        self._note(kind, "joined", where, why)

    def rename(self, kind: Kind, where: str, why: str) -> None:
        self._note(kind, "renamed", where, why)

    def change(self, kind: Kind, where: str, why: str) -> None:
        self._note(kind, "changed", where, why)

    def _note(self, kind: Kind, outcome: Outcome, where: str, why: str) -> None:
        where = where[:MAX_WHERE_CHARACTERS]
        self.count(kind, outcome)
        self.reasons[kind, outcome, why] += 1
        self.examples.setdefault((kind, outcome, why), where)
        row = {"kind": kind, "row": where, "outcome": outcome, "why": why}
        self._write(orjson.dumps(row) + b"\n")

    def has_rows(self) -> bool:
        return any(self.numbers[kind, "read"] for kind in KINDS)

    def taken(self) -> int:
        """The number of rows that were not rejected."""
        return sum(self.numbers[kind, "read"] - self.numbers[kind, "refused"] for kind in KINDS)

    def stored(self) -> int:
        return sum(self.numbers[kind, "stored"] for kind in KINDS)

    def every_reason(self) -> list[dict[str, Any]]:
        """Why rows were changed or rejected, how often, and the first of them; the most frequent
        first."""
        return [
            {
                "kind": kind,
                "outcome": outcome,
                "why": why,
                "number": number,
                "example": self.examples[kind, outcome, why],
            }
            for (kind, outcome, why), number in self.reasons.most_common()
        ]

    def summary(self) -> dict[str, dict[str, int]]:
        return {
            kind: {outcome: self.numbers[kind, outcome] for outcome in OUTCOMES} for kind in KINDS
        }

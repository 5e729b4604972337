"""A file of results: what was run, on what machine, and every single run; and how to read it again.

`bench/results` keeps every table, named by date and commit; of the runs themselves it keeps the
newest of each topic, named by topic.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .stats import Spread, ratios

OURS = "footfall"
LEAST = "least"
DIRECTORY = Path(__file__).parent / "results"


def lines(value: Any, indent: int = 0) -> str:
    """JSON in which each run, and anything else that contains no list or object, is one line."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not any(isinstance(each, dict | list) for each in inner):
        return json.dumps(value, ensure_ascii=False)
    space = " " * (indent + 1)
    if isinstance(value, dict):
        items = [f"{json.dumps(name)}: {lines(each, indent + 1)}" for name, each in value.items()]
        first, last = "{}"
    else:
        items = [lines(each, indent + 1) for each in value]
        first, last = "[]"
    return f"{first}\n{space}" + f",\n{space}".join(items) + f"\n{' ' * indent}{last}"


@dataclass
class Results:
    """`runs` are measure.Run as JSON, discarded ones included; `latency` and `growth` are what
    those parts of run.py made."""

    when: str = ""
    commit: str = ""
    machine: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    runs: list[dict[str, Any]] = field(default_factory=list)
    latency: list[dict[str, Any]] = field(default_factory=list)
    growth: list[dict[str, Any]] = field(default_factory=list)
    memory: dict[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> "Results":
        return cls(**json.loads(file.read_text()))

    def write(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(lines(vars(self)) + "\n")

    @property
    def name(self) -> str:
        """The name of their table."""
        return f"{self.when}-{self.commit}"

    def scenarios(self) -> list[str]:
        """In the order they were run."""
        return list(dict.fromkeys(run["scenario"] for run in self.runs))

    def peers(self, scenario: str) -> list[str]:
        return list(dict.fromkeys(run["peer"] for run in self._of(scenario)))

    def kept(self, scenario: str, peer: str) -> list[dict[str, Any]]:
        runs = self._of(scenario)
        return [run for run in runs if run["peer"] == peer and not run["is_discarded"]]

    def by_round(self, scenario: str, peer: str, what: str = "rate") -> dict[int, float]:
        """Empty for what older files do not have."""
        kept = self.kept(scenario, peer)
        return {run["round"]: run[what] for run in kept if what in run}

    def spread(self, scenario: str, peer: str, what: str = "rate") -> Spread | None:
        return Spread.of(self.by_round(scenario, peer, what).values())

    def ratio(
        self, scenario: str, peer: str, *, what: str = "rate", ours: str = OURS
    ) -> Spread | None:
        """Ours divided by the peer's, pair by pair."""
        return ratios(self.by_round(scenario, ours, what), self.by_round(scenario, peer, what))

    @property
    def has_least(self) -> bool:
        return any(run["peer"] == LEAST for run in self.runs)

    def user_to_least(self, scenario: str, peer: str = OURS) -> Spread | None:
        """A server's time in its own code, divided by that of the least that Python needs."""
        return self.ratio(scenario, LEAST, what="user_us", ours=peer)

    def _of(self, scenario: str) -> Iterable[dict[str, Any]]:
        return (run for run in self.runs if run["scenario"] == scenario)

"""Every recorded exchange, asked of this service and compared; what differs has a rule's name."""

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from . import replay
from .recording import Row, scenarios
from .rules import RULES
from .served import House, house

ROWS = [row for scenario in scenarios().values() for row in scenario.rows]
OURS = [row for row in ROWS if row.is_ours]


class Replayed:
    """Each scenario is replayed once, in its order, when the first of its rows is asked about."""

    def __init__(self, home: House) -> None:
        self._home = home
        self._outcomes: dict[str, Mapping[str, replay.Outcome]] = {}

    def outcome(self, row: Row) -> replay.Outcome:
        return self.scenario(row.scenario)[row.name]

    def scenario(self, name: str) -> Mapping[str, replay.Outcome]:
        if name not in self._outcomes:
            outcomes = self._home.replay(scenarios()[name])
            self._outcomes[name] = {each.row.name: each for each in outcomes}
        return self._outcomes[name]

    def everything(self) -> list[replay.Outcome]:
        return [self.outcome(row) for row in ROWS]

    def heard(self, name: str) -> list[tuple[str, str]]:
        self.scenario(name)
        return self._home.heard[name]


@pytest.fixture(scope="module")
def replayed() -> Iterator[Replayed]:
    with house() as home:
        yield Replayed(home)


@pytest.mark.parametrize("row", OURS, ids=lambda row: row.id)
def test_the_answer_is_the_recorded_one_or_the_one_decided(replayed: Replayed, row: Row) -> None:
    outcome = replayed.outcome(row)
    if outcome.diff:
        sent = f"{row.method} {row.target[:200]} {row.body or ''}"
        pytest.fail(
            f"{sent}\n{outcome.diff}\nrules applied: {', '.join(sorted(outcome.rules)) or 'none'}",
            pytrace=False,
        )


def test_every_row_is_compared(replayed: Replayed) -> None:
    verdicts = Counter(outcome.verdict for outcome in replayed.everything())
    compared = verdicts[replay.EQUAL] + verdicts[replay.BY_RULE] + verdicts[replay.DIFFERENT]
    assert compared == len(OURS)
    assert compared + verdicts[replay.SET_UP] == len(ROWS)


def test_every_rule_is_used(replayed: Replayed) -> None:
    used = {rule for outcome in replayed.everything() for rule in outcome.rules}
    assert used == set(RULES)

"""Every recorded exchange, asked of this service and compared; what differs has a rule's name."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import extent

from . import replay
from .recording import Row, scenarios
from .rules import RULES, Counts
from .served import Runner, open_runner

# How an administrator comes to be whom the recording had none of.
KEEPERS = [("POST", "/api/user"), ("POST", "/api/token")]
ROWS = [row for scenario in scenarios().values() for row in scenario.rows]


class Replayed:
    """Each scenario is replayed once, in its order, when the first of its rows is asked about."""

    def __init__(self, runner: Runner) -> None:
        self._house = runner
        self._heard: dict[str, list[tuple[str, str]]] = {}
        self._outcomes: dict[str, Mapping[str, replay.Outcome]] = {}

    def scenario(self, name: str) -> Mapping[str, replay.Outcome]:
        if name not in self._outcomes:
            outcomes = self._house.replay(scenarios()[name])
            self._heard[name] = list(self._house.requests)
            self._outcomes[name] = {outcome.row.name: outcome for outcome in outcomes}
        return self._outcomes[name]

    def everything(self) -> list[replay.Outcome]:
        return [each for name in scenarios() for each in self.scenario(name).values()]

    def requests(self, name: str) -> list[tuple[str, str]]:
        self.scenario(name)
        return self._heard[name]

    def is_asked_twice(self, row: Row) -> bool:
        return "views only rise" in self.scenario(row.scenario)[row.name].rules


@pytest.fixture(scope="module", params=extent.servers(("valkey", "cluster"), __name__))
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture(scope="module")
def runner(kind: str, request: pytest.FixtureRequest) -> Iterator[Runner]:
    is_cluster = kind == "cluster"
    with open_runner(request.getfixturevalue("cluster").url if is_cluster else "") as runner:
        yield runner


@pytest.fixture(scope="module")
def replayed(runner: Runner) -> Replayed:
    return Replayed(runner)


@pytest.mark.parametrize("name", scenarios())
def test_every_answer_is_the_recorded_one_or_the_one_decided(replayed: Replayed, name: str) -> None:
    wrong = [told(outcome) for outcome in replayed.scenario(name).values() if outcome.diff]
    assert not wrong, "\n\n".join(wrong)


def told(outcome: replay.Outcome) -> str:
    row, rules = outcome.row, ", ".join(sorted(outcome.rules)) or "none"
    return f"{row.method} {row.target[:200]} {row.body or ''}\n{outcome.diff}\nby rules: {rules}"


def test_every_row_is_compared(replayed: Replayed) -> None:
    verdicts = Counter(outcome.verdict for outcome in replayed.everything())
    compared = verdicts[replay.EQUAL] + verdicts[replay.BY_RULE] + verdicts[replay.DIFFERENT]
    assert compared == len(ROWS) == 786


def test_every_rule_is_used(replayed: Replayed) -> None:
    used = {rule for outcome in replayed.everything() for rule in outcome.rules}
    assert used == set(RULES)


def test_what_was_recorded_is_what_was_sent(replayed: Replayed) -> None:
    rows = scenarios()["article"].rows
    twice = [row for row in rows for _ in range(2 if replayed.is_asked_twice(row) else 1)]
    asked = [request for request in replayed.requests("article") if request not in KEEPERS]
    assert asked == [(row.method, row.target) for row in twice]


def test_a_wrong_answer_is_called_different() -> None:
    row = next(row for row in ROWS if row.id == "count/old url=%2Fc1")
    expected, _ = replay.expectation(row, Counts())
    wrong = replace(expected.answer, body=4)
    assert '+ "body": 4' in replay.difference(expected.answer, wrong)
    assert replay.difference(expected.answer, replace(expected.answer, body=3.0))
    assert not replay.difference(expected.answer, expected.answer)


def test_the_readme_lists_every_rule() -> None:
    readme = Path(__file__).with_name("README.md").read_text()
    listed = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", readme, re.MULTILINE)
    assert listed[1:] == [(rule.name, rule.kind, rule.reason) for rule in RULES.values()]

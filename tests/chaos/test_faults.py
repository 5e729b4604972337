"""Whatever breaks under load, no count and no comment that was acknowledged is lost or doubled."""

import re
import tempfile
from pathlib import Path

import pytest

from . import table
from .__main__ import main
from .faults import EXTERNAL, FAULTS, PRIVATE, Fault
from .play import Force, play
from .scene import Scene

# What `make test` plays: of Redis, of the service and of the way between them.
ENOUGH = {
    "own Redis killed",
    "the service killed while it stores a comment",
    "replies of Redis cut during moderation",
}


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, id=fault.name, marks=() if fault.name in ENOUGH else pytest.mark.rare)
        for fault in FAULTS
    ],
)
def test_nothing_is_lost_or_doubled(fault: Fault, home: Path) -> None:
    with tempfile.TemporaryDirectory(dir=home) as directory:
        outcome = play(fault, Path(directory), Force())
    assert not outcome.problems, "\n".join(outcome.problems)
    assert outcome.report.ledger.total.accepted > 100
    assert outcome.writer.accepted


def test_a_redis_that_forgets_is_found_out(home: Path) -> None:
    """A test of the suite itself: its checks can fail."""

    def forget(scene: Scene) -> None:
        """Delete everything but the data set's id, without which services would stop counting."""
        with scene.client() as client:
            for key in client.scan_iter():
                if not key.endswith(b":format"):
                    client.delete(key)

    fault = Fault("own Redis forgets", "counters and comments", EXTERNAL, forget)
    with tempfile.TemporaryDirectory(dir=home) as directory:
        problems = "\n".join(play(fault, Path(directory), Force(following=0)).problems)
    assert "Increments: LOST " in problems
    assert "and is there as None" in problems


def test_a_fault_that_fails_is_a_row_of_the_table_and_the_others_are_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(scene: Scene) -> None:
        raise AssertionError("waited in vain\nfor a | b")

    bad = Fault("bad", "nothing", PRIVATE, fail)
    good = Fault("good", "nothing", PRIVATE, lambda scene: None)
    monkeypatch.setattr("tests.chaos.__main__.FAULTS", [bad, good])
    monkeypatch.setattr(table, "FILE", tmp_path / "results.md")
    monkeypatch.setattr(table, "DOCUMENT", tmp_path / "faults.md")
    table.DOCUMENT.write_text("")
    assert main(["--rounds", "1"]) == 1
    of_bad, of_good = table.FILE.read_text().splitlines()[-2:]
    assert "| **waited in vain for a / b** | **FAILED** |" in of_bad
    assert "exact" in of_good
    assert of_good.endswith("| clean |")
    assert of_bad.count("|") == of_good.count("|") == len(table.COLUMNS) + 1


def test_the_stored_table_has_every_fault_and_none_that_failed() -> None:
    stored = table.FILE.read_text()
    assert [fault.name for fault in FAULTS] == re.findall(r"^\| (.+?) \|", stored, re.MULTILINE)[1:]
    assert "**" not in stored
    assert table.DOCUMENT.read_text().endswith(table.short(stored))

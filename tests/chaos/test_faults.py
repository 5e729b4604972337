"""Whatever breaks under load, no count and no comment that was acknowledged is lost or doubled."""

import tempfile
from pathlib import Path

import pytest

from .faults import FAULTS, Fault, kill_external_redis
from .play import Force, play
from .scene import Deployment


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_nothing_is_lost_or_doubled(fault: Fault, home: Path) -> None:
    with tempfile.TemporaryDirectory(dir=home) as directory:
        outcome = play(fault, Path(directory), Force())
    assert not outcome.problems, "\n".join(outcome.problems)
    assert outcome.report.ledger.total.accepted > 100 and outcome.writer.accepted


def test_a_redis_that_forgets_is_found_out(home: Path) -> None:
    """The suite's own test: what it asks can be answered with no."""
    forgetful = Deployment("external", options=("--port", "0", "--appendonly", "no"))
    fault = Fault("own Redis killed", "without a file", forgetful, kill_external_redis)
    with tempfile.TemporaryDirectory(dir=home) as directory:
        problems = "\n".join(play(fault, Path(directory), Force()).problems)
    assert "Increments: LOST " in problems
    assert "and is there as None" in problems

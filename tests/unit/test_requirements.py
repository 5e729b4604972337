"""In CI a test is skipped only if nobody makes the program for this kind of machine."""

import pytest

from tests.support import requirements
from tests.support.requirements import Missing, NotMade, give_up


@pytest.fixture(autouse=True)
def reasons(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The reasons are not reported at the end of this run."""
    told: list[str] = []
    monkeypatch.setattr(requirements, "reasons", told)
    return told


def test_ci_fails_for_a_program_that_it_should_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(Missing):
        give_up(Missing("no nginx"))


@pytest.mark.parametrize(("ci", "error"), [("", Missing), ("true", NotMade)])
def test_a_test_whose_program_does_not_exist_is_skipped_and_reported(
    monkeypatch: pytest.MonkeyPatch, reasons: list[str], ci: str, error: type[Missing]
) -> None:
    monkeypatch.setenv("CI", ci)
    with pytest.raises(pytest.skip.Exception):
        give_up(error("no helm"))
    assert reasons == ["no helm"]

"""In CI a test is skipped only if CI cannot have what it needs."""

import pytest

from tests.support import requirements
from tests.support.requirements import give_up


@pytest.fixture(autouse=True)
def reasons(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The reasons are not reported at the end of this run."""
    told: list[str] = []
    monkeypatch.setattr(requirements, "reasons", told)
    return told


def test_ci_fails_for_a_program_that_it_should_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no nginx"):
        give_up("no nginx")


@pytest.mark.parametrize(("ci", "is_in_ci"), [("", True), ("true", False)])
def test_a_test_whose_program_does_not_exist_is_skipped_and_reported(
    monkeypatch: pytest.MonkeyPatch, reasons: list[str], ci: str, is_in_ci: bool
) -> None:
    monkeypatch.setenv("CI", ci)
    with pytest.raises(pytest.skip.Exception):
        give_up("no helm", is_in_ci=is_in_ci)
    assert reasons == ["no helm"]

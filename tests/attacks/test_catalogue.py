"""The list itself is complete."""

from . import catalogue


def test_every_attack_says_who_tries_what_and_what_happens_instead() -> None:
    """Who: somebody who adds a test to this folder. What: leaves readers to guess what it is about.
    Instead: the suite names the test and the form that its docstring should have."""
    assert len(list(catalogue.attacks())) == len(list(catalogue.tests()))

"""What `make test` leaves to `make test-all` is told, and is only ever another try of the same."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TIERS = ("attacks", "browser", "chaos", "conformance", "web")


# Prints every test that is collected, those that are left out with a word before them.
LISTING = """
import sys, pytest

class Listing:
    def pytest_deselected(self, items):
        for item in items:
            print("left", item.nodeid)

words = ["--collect-only", "-q", "-p", "no:cacheprovider", *sys.argv[1:]]
sys.exit(pytest.main(words, [Listing()]))
"""


def collected(*words: str) -> list[str]:
    """What such a run of a fair part says that it would try."""
    environ = {name: text for name, text in os.environ.items() if name != "TEST_ALL"}
    command = [sys.executable, "-c", LISTING, *words]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def of(lines: list[str], beginning: str = "tests/") -> list[str]:
    return [line.removeprefix("left ") for line in lines if line.startswith(beginning)]


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return collected(*(f"tests/{tier}" for tier in TIERS))


@pytest.fixture(scope="module")
def chosen(lines: list[str]) -> list[str]:
    return of(lines)


def test_every_test_is_chosen_with_some_of_its_parameters(lines: list[str]) -> None:
    left = {each.partition("[")[0] for each in of(lines, "left ")}
    assert left
    assert left - {each.partition("[")[0] for each in of(lines)} == set()


def test_every_client_and_every_size_comes_up(chosen: list[str]) -> None:
    in_browser = "\n".join(each for each in chosen if "/browser/" in each)
    for value in ("1.6.0", "2.14.1", "2.15.5", "3.15.2", "phone", "desk"):
        assert re.search(rf"\[(.*-)?{re.escape(value)}(-.*)?\]", in_browser), value


def test_a_fault_of_each_part_is_played(chosen: list[str]) -> None:
    faults = [each for each in chosen if "test_nothing_is_lost_or_doubled" in each]
    assert len(faults) == 3


def test_the_recording_is_replayed_once(chosen: list[str]) -> None:
    rows = Counter(each.partition("[")[2].partition("-")[2] for each in chosen)
    assert max(rows[row] for row in rows if row.startswith("article/")) == 1


def test_what_was_left_is_told_and_what_is_named_is_not_left() -> None:
    file = "tests/web/test_feeds.py"
    some, named = collected(file), collected(file, "-k", "cluster")
    ran, left = of(some), of(some, "left ")
    assert f"{len(ran)} of {len(ran) + len(left)} tests; make test-all runs all" in some
    assert left
    assert of(named) == left

"""What `make test` leaves to `make test-all` is told, and slices of that are all of it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILE = "tests/web/test_feeds.py"


def collected(*words: str, **environ: str) -> list[str]:
    """What such a run says that it would try."""
    inherited = {
        name: text for name, text in os.environ.items() if name not in ("TEST_ALL", "SLICE")
    }
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *words], cwd=ROOT, env=inherited | environ, capture_output=True, text=True
    )
    # 5: there is none.
    assert done.returncode in (0, 5), done.stdout + done.stderr
    return done.stdout.splitlines()


def of(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("tests/")]


@pytest.mark.rare
def test_what_is_left_is_told_and_each_of_it_is_in_one_slice() -> None:
    chosen, every = collected(FILE), of(collected(FILE, TEST_ALL="1"))
    assert f"{len(of(chosen))} of {len(every)} tests; make test-all runs all" in chosen
    left = set(every) - set(of(chosen))
    assert left
    slices = [of(collected(FILE, TEST_ALL="1", SLICE=f"{n}/2")) for n in (1, 2)]
    assert sorted(slices[0] + slices[1]) == sorted(left)


@pytest.mark.rare
def test_what_is_named_is_not_left() -> None:
    named = of(collected(FILE, "-k", "cluster"))
    assert named
    assert all("cluster" in each for each in named)


@pytest.mark.rare
def test_every_client_and_every_size_comes_up() -> None:
    in_browser = "\n".join(of(collected("tests/browser")))
    for value in ("1.6.0", "2.14.1", "2.15.5", "3.15.2", "desk"):
        assert re.search(rf"\[(.*-)?{re.escape(value)}(-.*)?\]", in_browser), value


@pytest.mark.rare
def test_a_fault_of_each_part_is_played() -> None:
    faults = of(collected("tests/chaos", "-k", "nothing_is_lost_or_doubled"))
    assert len(faults) == 3

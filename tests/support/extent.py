"""How much is tried: everything with TEST_ALL=1 (`make test-all`), a fair part of it otherwise.

`make test` leaves out what is marked `rare`: what takes long, what other tests nearly say, and more
than one try of a test that is tried on several servers, with several clients or on several screens.
What it is tried with is decided by its name: so another test has the others, and a test that failed
fails again. If all that was named is rare, as with `-k cluster`, it is tried.

`SLICE=3/6 make test-all` tries the third sixth of what `make test` leaves out, and nothing else.
"""

import os
import zlib
from collections.abc import Sequence
from typing import Any, TypeVar

import pytest

from .servers import programs

ALL = bool(os.environ.get("TEST_ALL"))
# A share of what `make test` leaves out, "3/6": the third of six.
SLICE = os.environ.get("SLICE", "")

# How many tests this run tries, and how many it leaves out.
CHOSEN = pytest.StashKey[int]()
LEFT = pytest.StashKey[int]()
T = TypeVar("T")


def one_of(values: Sequence[T], name: str) -> T:
    """Always the same one for a name."""
    return values[zlib.crc32(name.encode()) % len(values)]


def servers(kinds: Sequence[str], name: str, *, is_on_cluster: bool = False) -> list[Any]:
    """The kinds of server that a test is tried on, as parameters; all but one of them are rare.

    That one is real and on this machine, if the test is tried on a real one at all.
    """
    there = [kind for kind in kinds if kind in programs()]
    chosen = {one_of(there or kinds, name), "cluster" if is_on_cluster else ""}
    return [pytest.param(kind, marks=() if kind in chosen else pytest.mark.rare) for kind in kinds]


def is_rare(item: pytest.Item) -> bool:
    return item.get_closest_marker("rare") is not None


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out what this run is not for."""
    left = {item for item in items if is_rare(item)}
    if SLICE:
        chosen = {item for item in left if _is_in_slice(item)}
    else:
        chosen = set(items) if ALL or len(left) == len(items) else set(items) - left
    config.stash[LEFT], config.stash[CHOSEN] = len(items) - len(chosen), len(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def _is_in_slice(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("rare")
    # What needs the same dear thing is in one slice.
    share = str(mark.kwargs.get("together", item.nodeid)) if mark else ""
    number, of = map(int, SLICE.split("/"))
    return zlib.crc32(share.encode()) % of == number % of

"""How much is tried: everything with TEST_ALL=1 (`make test-all`), a fair part of it otherwise.

A test that is tried on several servers, with several clients or on several screens is tried once
in `make test`, with values that its name decides: so another test has the others, and a test that
failed fails again. `-k 2.14.1` or `-k cluster` gets all tests with that value.

`SLICE=3/6 make test-all` runs the third sixth of what `make test` leaves out, and nothing else.
"""

import os
import zlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path

import pytest

ALL = bool(os.environ.get("TEST_ALL"))
# A share of what `make test` leaves out, "3/6": the third of six.
SLICE = os.environ.get("SLICE", "")


# How many tests are left to `make test-all`.
LEFT = pytest.StashKey[int]()
_IS_LEFT = pytest.StashKey[bool]()


def _share(item: pytest.Item) -> str:
    """What is tried in one slice with all that has the same."""
    mark = item.get_closest_marker("rare")
    return str(mark.kwargs.get("together", item.nodeid)) if mark else item.nodeid


def one_of(kinds: Sequence[str], test: str) -> str:
    """The kind of server that a test is tried on, always the same one for its name."""
    return kinds[zlib.crc32(test.encode()) % len(kinds)]


def leave_out(
    items: Sequence[pytest.Item], tier: Path, is_left_out: Callable[[pytest.Function], bool]
) -> None:
    """Note what `make test` leaves out of the tests that were collected in this tier.

    A hook calls it with `trylast`, behind -k.
    """
    files = {path for path in {item.path for item in items} if tier in path.parents}
    for item in items:
        if isinstance(item, pytest.Function) and item.path in files and is_left_out(item):
            item.stash[_IS_LEFT] = True


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out what this run is not for, when every tier has noted what it leaves out."""
    left = {item for item in items if item.stash.get(_IS_LEFT, False)}
    if SLICE:
        number, of = map(int, SLICE.split("/"))
        chosen = {item for item in left if zlib.crc32(_share(item).encode()) % of == number % of}
    else:
        chosen = set(items) if ALL else set(items) - left
    config.stash[LEFT] = len(items) - len(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def one_each(items: Sequence[pytest.Item]) -> Callable[[pytest.Function], bool]:
    """For `leave_out`: leaves a test one of its parameters, by its name."""
    tries = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        tries[_without_parameters(item)].append(item)

    def is_left_out(item: pytest.Function) -> bool:
        same = tries[_without_parameters(item)]
        return same[zlib.crc32(item.originalname.encode()) % len(same)] is not item

    return is_left_out


def on(kind: str, items: Sequence[pytest.Item]) -> Callable[[pytest.Function], bool]:
    """For `leave_out`: leaves a test this kind of server, if it is tried on that at all.

    One with the marker `cluster` is tried on the Cluster, too.
    """
    found = {_but_for("kind", item) for item in items if kind_of(item) == kind}

    def is_left_out(item: pytest.Function) -> bool:
        if kind_of(item) == "cluster" and item.get_closest_marker("cluster"):
            return False
        return kind_of(item) != kind and _but_for("kind", item) in found

    return is_left_out


def is_rare(item: pytest.Function) -> bool:
    """For `leave_out`: leaves out what takes long, and what other tests nearly say."""
    return item.get_closest_marker("rare") is not None


def kind_of(item: pytest.Item) -> str:
    """The kind of server that a test has as a parameter; "" for none."""
    return str(parameters_of(item).get("kind", ""))


def parameters_of(item: pytest.Item) -> Mapping[str, object]:
    return item.callspec.params if hasattr(item, "callspec") else {}


def _but_for(parameter: str, item: pytest.Item) -> Hashable:
    """What the items that differ in this parameter alone have in common."""
    others = {name: id(value) for name, value in parameters_of(item).items() if name != parameter}
    return parameter, _without_parameters(item), frozenset(others.items())


def _without_parameters(item: pytest.Item) -> str:
    """Its address with its file, its class and its name."""
    return item.nodeid.partition("[")[0]

"""How much is tried: everything with TEST_ALL=1 (`make test-all`), a fair part of it otherwise.

A test that is tried on several servers, with several clients or on several screens is tried once
in `make test`, with values that its name decides: so another test has the others, and a test that
failed fails again. `-k 2.14.1` or `-k cluster` gets all tests with that value.
"""

import os
import zlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path

import pytest

ALL = bool(os.environ.get("TEST_ALL"))


# How many tests are left to `make test-all`.
LEFT = pytest.StashKey[int]()


def one_of(kinds: Sequence[str], test: str) -> str:
    """The kind of server that a test is tried on, always the same one for its name."""
    return kinds[zlib.crc32(test.encode()) % len(kinds)]


def deselect(
    config: pytest.Config,
    items: list[pytest.Item],
    tier: Path,
    is_left_out: Callable[[pytest.Function], bool],
) -> None:
    """Take tests out of those that were collected in this tier, unless all are wanted.

    A hook calls it with `trylast`, behind -k.
    """
    if ALL:
        return
    files = {path for path in {item.path for item in items} if tier in path.parents}
    left = {
        item
        for item in items
        if isinstance(item, pytest.Function) and item.path in files and is_left_out(item)
    }
    config.stash[LEFT] = config.stash.get(LEFT, 0) + len(left)
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]


def once(items: Sequence[pytest.Item], *parameters: str) -> Callable[[pytest.Function], bool]:
    """For `deselect`: leaves a test one value of each of these parameters, by its name."""
    found: defaultdict[Hashable, list[object]] = defaultdict(list)
    for item in items:
        for parameter in parameters_of(item).keys() & parameters:
            values = found[_but_for(parameter, item)]
            if (value := parameters_of(item)[parameter]) not in values:
                values.append(value)

    def is_left_out(item: pytest.Function) -> bool:
        for parameter in parameters_of(item).keys() & parameters:
            values = found[_but_for(parameter, item)]
            chosen = zlib.crc32(f"{item.originalname} {parameter}".encode()) % len(values)
            if values[chosen] != parameters_of(item)[parameter]:
                return True
        return False

    return is_left_out


def on(kind: str, items: Sequence[pytest.Item]) -> Callable[[pytest.Function], bool]:
    """For `deselect`: leaves a test this kind of server, if it is tried on that at all.

    One with the marker `cluster` is tried on the Cluster, too.
    """
    found = {_but_for("kind", item) for item in items if kind_of(item) == kind}

    def is_left_out(item: pytest.Function) -> bool:
        if kind_of(item) == "cluster" and item.get_closest_marker("cluster"):
            return False
        return kind_of(item) != kind and _but_for("kind", item) in found

    return is_left_out


def is_rare(item: pytest.Function) -> bool:
    """For `deselect`: leaves out what takes long, and what other tests nearly say."""
    return item.get_closest_marker("rare") is not None


def kind_of(item: pytest.Item) -> str:
    """The kind of server that a test has as a parameter; "" for none."""
    return str(parameters_of(item).get("kind", ""))


def parameters_of(item: pytest.Item) -> Mapping[str, object]:
    return item.callspec.params if hasattr(item, "callspec") else {}


def _but_for(parameter: str, item: pytest.Item) -> Hashable:
    """What the items that differ in this parameter alone have in common."""
    others = {name: id(value) for name, value in parameters_of(item).items() if name != parameter}
    # Without its parameters, a test's address has its file, its class and its name.
    return parameter, item.nodeid.partition("[")[0], frozenset(others.items())

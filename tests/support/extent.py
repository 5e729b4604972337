"""How much is tried: everything with TEST_ALL=1 (`make test-all`), a fair part of it otherwise."""

import os
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

ALL = bool(os.environ.get("TEST_ALL"))


def one_of(kinds: Sequence[str], test: str) -> str:
    """The kind of server that a test is tried on, always the same one for its name."""
    return kinds[zlib.crc32(test.encode()) % len(kinds)]


def deselect(
    config: pytest.Config,
    items: list[pytest.Item],
    tier: Path,
    is_left_out: Callable[[pytest.Function], bool],
) -> None:
    """Take tests out of those that were collected in this tier, unless all are wanted."""
    if ALL:
        return
    left = [
        item
        for item in items
        if isinstance(item, pytest.Function) and tier in item.path.parents and is_left_out(item)
    ]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


def kind_of(item: pytest.Function) -> str:
    """The kind of server that a test has as a parameter; "" for none."""
    return str(item.callspec.params.get("kind", "")) if hasattr(item, "callspec") else ""

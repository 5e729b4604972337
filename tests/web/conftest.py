"""This tier checks parsing, answers and statuses, for which fakeredis is enough.

As its name decides, a test runs on a Cluster instead: there the keys of one answer may be on
several nodes. With EVERY_SERVER each runs on both.
"""

import os
import zlib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
KINDS = ("fake", "cluster")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("EVERY_SERVER"):
        return
    left = [item for item in items if _is_for_the_other(item)]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if not _is_for_the_other(item)]


def _is_for_the_other(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function) or HERE not in item.path.parents:
        return False
    # Some modules and tests have kinds of their own.
    has_own = any(each.args[0] == "kind" for each in item.iter_markers("parametrize"))
    if has_own or hasattr(item.module, "kind") or not hasattr(item, "callspec"):
        return False
    kind = item.callspec.params.get("kind")
    return kind in KINDS and kind != KINDS[zlib.crc32(item.originalname.encode()) % 2]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind

"""This tier checks parsing, answers and statuses, for which fakeredis is enough.

As its name decides, a test runs on a Cluster instead: there the keys of one answer may be on
several nodes. With TEST_ALL=1 each runs on both.
"""

from pathlib import Path

import pytest

from tests.support import extent

HERE = Path(__file__).parent
KINDS = ("fake", "cluster")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    extent.deselect(config, items, HERE, _is_for_the_other)


def _is_for_the_other(item: pytest.Function) -> bool:
    # Some modules and tests have kinds of their own.
    has_own = any(each.args[0] == "kind" for each in item.iter_markers("parametrize"))
    if has_own or hasattr(item.module, "kind"):
        return False
    kind = extent.kind_of(item)
    return kind in KINDS and kind != extent.one_of(KINDS, item.originalname)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind

"""This tier checks parsing, answers and statuses, on a Valkey.

With TEST_ALL=1 all of it is tried on a Cluster as well, where the keys of one answer may be on
several nodes; without it, what has the marker `cluster`.
"""

from pathlib import Path

import pytest

from tests.support import extent

HERE = Path(__file__).parent
KINDS = ("valkey", "cluster")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    extent.leave_out(items, HERE, extent.on("valkey", items))


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind

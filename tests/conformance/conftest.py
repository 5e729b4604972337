"""The recording is replayed on a Valkey, and with TEST_ALL=1 on a Cluster as well."""

from pathlib import Path

import pytest

from tests.support import extent

HERE = Path(__file__).parent


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    extent.leave_out(items, HERE, extent.on("valkey", items))

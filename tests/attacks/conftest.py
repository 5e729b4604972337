"""Attacks meet what all servers do alike, and the scripts that they end in are tried on every kind:
so one server is enough here, but with TEST_ALL=1."""

from pathlib import Path

import pytest

from tests.conftest import KINDS
from tests.support import extent

HERE = Path(__file__).parent


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    extent.leave_out(items, HERE, extent.on("valkey", items))


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind

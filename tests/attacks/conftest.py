"""Attacks meet what all servers do alike, and the scripts that they end in are tried on every kind:
so one server is enough here, but with TEST_ALL=1."""

import pytest

from tests.conftest import KINDS
from tests.support import extent

TRIED = KINDS if extent.ALL else ("valkey",)


@pytest.fixture(params=TRIED)
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind

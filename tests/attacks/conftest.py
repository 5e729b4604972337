"""Attacks meet what all servers do alike, and the scripts that they end in are tried on every kind:
so one server is enough here, unless EVERY_SERVER is set."""

import os

import pytest

from tests.conftest import KINDS

TRIED = KINDS if os.environ.get("EVERY_SERVER") else ("valkey",)


@pytest.fixture(params=TRIED)
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind

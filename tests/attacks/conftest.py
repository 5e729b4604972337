"""Attacks meet what all servers do alike; the scripts that they end in are tried on every kind."""

import pytest


@pytest.fixture(params=("valkey",))
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind

"""Attacks meet what every server does alike; the scripts that they end in are tried on all kinds."""

import pytest


@pytest.fixture(params=("valkey",))
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind

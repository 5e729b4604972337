"""The integration tier is about what only a real server does."""

import pytest

from tests.conftest import REAL


@pytest.fixture(params=REAL)
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind

"""What tests of other counters' protocols have in common."""

import pytest


@pytest.fixture(params=["fake"])
def kind(request: pytest.FixtureRequest) -> str:
    """A protocol is a codec, and asks the store for what others ask."""
    kind: str = request.param
    return kind

"""The web tier asks about parsing, shapes and statuses: fakeredis is enough for that."""

import pytest


@pytest.fixture
def kind() -> str:
    return "fake"

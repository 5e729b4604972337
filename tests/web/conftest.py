"""The web tier asks about parsing, shapes and statuses: fakeredis is enough for that.

On a Cluster all of it is asked again: there every key of an answer may lie somewhere else.
"""

import pytest


@pytest.fixture(params=("fake", "cluster"))
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind

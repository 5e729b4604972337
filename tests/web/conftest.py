"""This tier checks parsing, answers and statuses, for which fakeredis is enough.

All of it runs on a Cluster, too: there the keys of one answer may be on several nodes.
"""

import pytest


@pytest.fixture(params=("fake", "cluster"))
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind

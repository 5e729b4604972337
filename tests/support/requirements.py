"""What a machine may lack: tests that need it are skipped with a reason; CI fails.

What needs a thing asks for it and gives up itself, so that no test has to remember.
"""

import os
from typing import NoReturn

import pytest

reasons: list[str] = []


def give_up(reason: str, *, is_in_ci: bool = True) -> NoReturn:
    """Skip the test that came here; CI must have the thing, if it can."""
    if os.environ.get("CI") and is_in_ci:
        pytest.fail(reason)
    if reason not in reasons:
        reasons.append(reason)
    pytest.skip(reason)

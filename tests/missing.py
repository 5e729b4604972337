"""What a machine lacks for some tests: they are skipped and the run's end says why; CI fails."""

import os
from typing import NoReturn

import pytest

reasons: list[str] = []


class Missing(Exception):
    """A piece that tests need and this machine has not; says which and why."""


def give_up(missing: Missing) -> NoReturn:
    if os.environ.get("CI"):
        raise missing
    if str(missing) not in reasons:
        reasons.append(str(missing))
    pytest.skip(str(missing))

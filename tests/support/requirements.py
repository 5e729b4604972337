"""What a machine lacks for some tests: they are skipped and the run's end says why; CI fails."""

import os
from typing import NoReturn

import pytest

reasons: list[str] = []


class Missing(Exception):
    """A piece that tests need and this machine has not; says which and why."""


class NotMade(Missing):
    """A piece that nobody makes for this kind of machine, so that CI cannot have it either."""


def give_up(missing: Missing) -> NoReturn:
    if os.environ.get("CI") and not isinstance(missing, NotMade):
        raise missing
    if str(missing) not in reasons:
        reasons.append(str(missing))
    pytest.skip(str(missing))

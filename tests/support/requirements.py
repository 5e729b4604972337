"""Programs that a machine may lack: tests that need them are skipped with a reason; CI fails."""

import os
from typing import NoReturn

import pytest

reasons: list[str] = []


class Missing(Exception):
    """Something that tests need is not on this machine; the message says what and why."""


class NotMade(Missing):
    """Nobody makes it for this kind of machine, so CI cannot have it either."""


def give_up(missing: Missing) -> NoReturn:
    if os.environ.get("CI") and not isinstance(missing, NotMade):
        raise missing
    if str(missing) not in reasons:
        reasons.append(str(missing))
    pytest.skip(str(missing))

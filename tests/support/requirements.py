"""What a machine may lack: tests that need it are skipped with a reason; CI fails.

What needs a thing asks for it and skips itself, so that no test has to remember.
"""

import os
import platform
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

IS_COMMON = (sys.platform, platform.machine()) == ("linux", "x86_64")
# Linters whose packages exist only for Linux on x86-64.
FOR_THE_COMMON = ("hadolint",)
reasons: list[str] = []


def program(*names: str) -> str:
    """The first of these programs that is beside this Python or on the PATH; else the test is
    skipped. Nothing else in the tests looks for a program, so that none is forgotten."""
    found = find(*names)
    if found is None:
        is_made = IS_COMMON or names[0] not in FOR_THE_COMMON
        give_up(f"there is no {names[0]} on this machine", is_in_ci=is_made)
    return found


def find(*names: str) -> str | None:
    """The same, where something else will do."""
    path = path_from(Path(sys.executable).parent)
    return next(filter(None, (shutil.which(name, path=path) for name in names)), None)


def path_from(first: Path) -> str:
    """The PATH with this directory before the others."""
    return os.pathsep.join([str(first), os.environ.get("PATH", "")])


def give_up(reason: str, *, is_in_ci: bool = True) -> NoReturn:
    """Skip the test that came here; CI must have the thing, if it can."""
    if os.environ.get("CI") and is_in_ci:
        pytest.fail(reason)
    if reason not in reasons:
        reasons.append(reason)
    pytest.skip(reason)

"""The parent of workers, when the system has no process left for it."""

import asyncio
import errno
import os
import signal
import sys
from typing import Any, NoReturn

import pytest

from footfall.driver.private_server import CannotStart
from footfall.server import workers


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM])
async def test_a_fork_that_fails_ends_all_workers_and_says_why(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    real, started = asyncio.create_subprocess_exec, list[asyncio.subprocess.Process]()
    room = iter([True])

    async def fork(*arguments: Any, **options: Any) -> asyncio.subprocess.Process:
        if not next(room, False):
            raise OSError(number, os.strerror(number))
        started.append(
            await real(
                sys.executable, "-c", "import signal; signal.pause()", stdin=options["stdin"]
            )
        )
        return started[0]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", fork)
    with pytest.raises(
        CannotStart, match=f"a worker could not be started: .*{os.strerror(number)}"
    ):
        async with asyncio.timeout(20):
            await workers.Pool(b"", [], lambda: None).keep(3, ["serve"], lambda number: None)
    (first,) = started
    assert first.returncode == -signal.SIGTERM


async def test_a_fork_that_fails_for_want_of_its_preparation_says_so_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def die() -> NoReturn:
        raise OSError("no library")

    monkeypatch.setattr(workers, "die_with_parent", die)
    with pytest.raises(CannotStart, match="a worker could not be started: .*preexec_fn"):
        async with asyncio.timeout(20):
            await workers.Pool(b"", [], lambda: None).keep(1, ["serve"], lambda number: None)

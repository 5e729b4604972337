"""The parent of workers: when it takes the service for started, and when it finds no process."""

import asyncio
import errno
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

from footfall.driver.private_server import CannotStart
from footfall.server import workers


def pool_of(ticks: Sequence[int] = (), hang_seconds: int = 0) -> workers.Pool:
    """With one worker, which has ticked so often at each look at it."""
    seen = iter(ticks)

    def look() -> list[int]:
        try:
            return [next(seen)]
        except StopIteration:
            raise EOFError from None

    metrics: Any = SimpleNamespace(ticks=SimpleNamespace(by_worker=look))
    return workers.Pool(workers.Told(b"", []), metrics, hang_seconds, end_seconds=60)


class Worker:
    pid = 1

    def __init__(self) -> None:
        self.signals = list[int]()

    def send_signal(self, number: int) -> None:
        self.signals.append(number)


@pytest.mark.parametrize(
    ("ticks", "is_killed"),
    [
        # It starts, however long that takes.
        ([5] * 50, False),
        ([0, 1, 2, 3, 4, 5, 6], False),
        # A long pause, as of a collection of garbage, and another one.
        ([0, 1, 1, 1, 2, 2, 2, 3], False),
        ([0, 1, 1, 1, 1], True),
        ([7, 8, 9, 9, 9, 9], True),
    ],
)
async def test_a_worker_that_stands_still_for_so_many_looks_is_killed(
    monkeypatch: pytest.MonkeyPatch, ticks: list[int], is_killed: bool
) -> None:
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0)
    pool, worker = pool_of(ticks, hang_seconds=3), Worker()
    pool._running.add(cast(Any, worker))
    with nullcontext() if is_killed else pytest.raises(EOFError):
        async with asyncio.timeout(60):
            await pool._watch(cast(Any, worker), 0)
    assert worker.signals == ([signal.SIGKILL] if is_killed else [])
    assert pool.is_answering != is_killed


async def test_no_worker_is_watched_with_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0)
    pool, worker = pool_of([0, 1, *[1] * 99]), Worker()
    pool._running.add(cast(Any, worker))
    with pytest.raises(EOFError):
        await pool._watch(cast(Any, worker), 0)
    assert worker.signals == []
    assert pool.is_answering


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
        async with asyncio.timeout(60):
            await pool_of().keep(3, ["serve"], lambda number: None)
    (first,) = started
    assert first.returncode == -signal.SIGTERM


async def test_a_fork_that_fails_for_want_of_its_preparation_says_so_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def die() -> NoReturn:
        raise OSError("no library")

    monkeypatch.setattr(workers, "die_with_parent", die)
    with pytest.raises(CannotStart, match="a worker could not be started: .*preexec_fn"):
        async with asyncio.timeout(60):
            await pool_of().keep(1, ["serve"], lambda number: None)


async def forever() -> None:
    await asyncio.Event().wait()


@asynccontextmanager
async def awaited(
    own: Path,
) -> AsyncIterator[tuple[socket.socket, asyncio.Task[None], asyncio.Task[bool]]]:
    """(a listener that a parent shares with workers, the workers, whether one answers)"""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{own}/s")
        listener.listen()
        listener.setblocking(False)
        kept = asyncio.create_task(forever())
        answering = asyncio.create_task(workers.are_answering(listener, kept))
        async with asyncio.timeout(60):
            yield listener, kept, answering
        kept.cancel()


async def test_a_service_has_started_when_a_worker_answers_and_not_when_it_is_listened(
    own: Path,
) -> None:
    loop = asyncio.get_running_loop()
    async with awaited(own) as (listener, _, answering):
        # The first worker dies with the request in its hands.
        for answer in (b"", b"HTTP/1.1 200 OK\r\n\r\n"):
            connection, _ = await loop.sock_accept(listener)
            with connection:
                assert (await loop.sock_recv(connection, 100)).startswith(b"GET /livez ")
                assert not answering.done()
                await loop.sock_sendall(connection, answer)
        assert await answering


async def test_workers_that_end_before_they_answer_have_not_started(own: Path) -> None:
    async with awaited(own) as (listener, kept, answering):
        connection, _ = await asyncio.get_running_loop().sock_accept(listener)
        with connection:
            kept.cancel()
            assert not await answering

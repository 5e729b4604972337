"""Several worker processes on one port and one Redis, and a parent that restarts those that die,
and kills those that hang.

Each worker runs `footfall serve`, and the kernel spreads connections over them (listener.py). Their
state is in Redis, so counts and limits are exact across all of them.
"""

import asyncio
import contextlib
import logging
import math
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..driver.private_server import CannotStart, die_with_parent
from ..telemetry.metrics import Metrics
from .listener import asked
from .log_files import open_again_on_hangup

log = logging.getLogger(__name__)

# Between the death of a worker and the start of another.
PAUSE_SECONDS = 0.5
# Between two attempts to reach the first worker.
RETRY_SECONDS = 0.02
# A worker that dies sooner has failed to start; this many such failures in a row stop the service.
# A worker that has waited for Redis in vain runs longer.
STABLE_SECONDS = 10.0
MAX_FAILURES = 10
# Between two looks at whether a worker goes on. Looks are counted, not seconds: while a machine is
# suspended, or too busy, its parent looks as seldom as the worker goes on.
LOOK_SECONDS = 1.0

WhenStopping = Callable[[signal.Signals], None]


async def are_answering(listener: socket.socket, kept: "asyncio.Task[None]") -> bool:
    """Wait until a worker answers; False if all are stopped before.

    A successful connection proves little: at a UNIX socket the parent itself listens.
    """
    answered = asyncio.create_task(_first_answer(listener))
    await asyncio.wait((answered, kept), return_when=asyncio.FIRST_COMPLETED)
    answered.cancel()
    return not kept.done()


async def _first_answer(listener: socket.socket) -> None:
    answer = b""
    while not answer:
        try:
            answer = await asked(listener, "/livez")
        except OSError:
            await asyncio.sleep(RETRY_SECONDS)


class Told(NamedTuple):
    """What each worker gets on its standard input, and the file descriptors that it keeps open."""

    text: bytes
    inherited: Sequence[int]


class Pool:
    """The running workers. `failure` is the reason why they were stopped, "" for a signal.

    In `metrics` each worker counts its ticks in its row. One that has not done so for
    `hang_seconds` is killed, unless that is 0; and one that has not ended within `end_seconds`
    after a signal.
    """

    def __init__(self, told: Told, metrics: Metrics, hang_seconds: int, end_seconds: float) -> None:
        self._told = told
        self._metrics = metrics
        self._hang_seconds = hang_seconds
        self._end_seconds = end_seconds
        # Row -> looks at its worker since it went on last.
        self._silent = dict[int, int]()
        self._stopping: asyncio.Future[signal.Signals] = asyncio.Future()
        self._running = set[asyncio.subprocess.Process]()
        self.failure = ""

    @property
    def is_answering(self) -> bool:
        """Does a worker run, and does none hang?"""
        most = self._hang_seconds or math.inf
        return bool(self._running) and all(silent < most for silent in self._silent.values())

    async def keep(self, number: int, arguments: list[str], when_stopping: WhenStopping) -> None:
        """Run `number` workers until SIGINT or SIGTERM, which is passed on; restart those that die.

        `arguments` are a worker's command; `when_stopping` is called before a signal is passed on.
        Raises CannotStart, after all have ended, if a worker could not be started or has failed
        MAX_FAILURES times.
        """

        def stop(number: signal.Signals) -> None:
            when_stopping(number)
            self.stop(number)

        loop = asyncio.get_running_loop()
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(signal_number, stop, signal_number)
        open_again_on_hangup(self._pass_on)
        async with asyncio.TaskGroup() as group:
            for row in range(number):
                group.create_task(self.keep_one([*arguments, "--row", str(row)], row))
        if self.failure:
            raise CannotStart(self.failure)

    def stop(self, number: signal.Signals) -> None:
        if not self._stopping.done():
            self._stopping.set_result(number)
            return
        # A second signal is passed on immediately.
        self._pass_on(number)

    def _pass_on(self, number: signal.Signals) -> None:
        for worker in self._running:
            _send(worker, number)

    async def keep_one(self, arguments: list[str], row: int) -> None:
        """Run a worker with these arguments, and another one whenever it dies."""
        loop = asyncio.get_running_loop()
        failures = 0
        while not self._stopping.done():
            started = loop.time()
            code = await self._run(arguments, row)
            failures = failures + 1 if loop.time() < started + STABLE_SECONDS else 0
            if self._stopping.done():
                return
            if failures == MAX_FAILURES:
                return self._fail(
                    f"a worker died at once {failures} times in a row, with exit code {code}"
                )
            log.error("a worker died (%s); starting another", code)
            self._metrics.worker_restarts.add()
            await asyncio.wait((self._stopping,), timeout=PAUSE_SECONDS)

    async def _run(self, arguments: list[str], row: int) -> int | None:
        """Start a worker and wait for its end; returns its exit code, None if it did not start."""
        try:
            worker = await asyncio.create_subprocess_exec(
                sys.executable,
                # Modules in the working directory are not imported.
                "-P",
                "-m",
                "footfall",
                *arguments,
                stdin=subprocess.PIPE,
                pass_fds=self._told.inherited,
                # Ctrl-C signals the whole process group, but only the parent passes signals on.
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        except (OSError, subprocess.SubprocessError) as error:
            self._fail(f"a worker could not be started: {error}")
            return None
        assert worker.stdin is not None
        # uvloop raises RuntimeError if it has died already.
        with contextlib.suppress(RuntimeError, OSError):
            worker.stdin.write(self._told.text)
            worker.stdin.close()
        self._running.add(worker)
        log.info("worker %d was started", worker.pid)
        died = asyncio.create_task(worker.wait())
        watching = asyncio.create_task(self._watch(worker, row))
        await asyncio.wait((self._stopping, died), return_when=asyncio.FIRST_COMPLETED)
        watching.cancel()
        if self._stopping.done():
            _send(worker, self._stopping.result())
            await self._end(worker, died)
        code = await died
        self._running.discard(worker)
        self._silent.pop(row, None)
        return code

    async def _watch(self, worker: asyncio.subprocess.Process, row: int) -> None:
        """Kill a worker that hangs. Until its first tick it starts, which may take long."""
        first = last = self._ticks(row)
        silent = 0
        while silent < self._hang_seconds or not self._hang_seconds:
            await asyncio.sleep(LOOK_SECONDS)
            now = self._ticks(row)
            silent = 0 if now != last or now == first else silent + 1
            last, self._silent[row] = now, silent
        seconds = self._hang_seconds
        log.error(
            "worker %d has stood still for %d s (HANG_SECONDS): it is killed", worker.pid, seconds
        )
        _send(worker, signal.SIGKILL)

    def _ticks(self, row: int) -> float:
        return self._metrics.ticks.by_worker()[row]

    async def _end(self, worker: asyncio.subprocess.Process, died: "asyncio.Task[int]") -> None:
        """Kill a worker that does not end by itself after a signal."""
        await asyncio.wait((died,), timeout=self._end_seconds)
        if not died.done():
            log.error("worker %d has not ended in time: it is killed", worker.pid)
            _send(worker, signal.SIGKILL)

    def _fail(self, reason: str) -> None:
        self.failure = self.failure or reason
        if not self._stopping.done():
            # The other workers are stopped in an orderly way.
            self._stopping.set_result(signal.SIGTERM)


def _send(worker: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        worker.send_signal(number)

"""Several processes behind one port and one Redis: a parent that keeps them running.

Each worker is `footfall serve` by itself, and the kernel spreads connections over them, so that no
process hands them on (listener.py). They share nothing but Redis, and so every count and limit is
exact across them.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from ..driver.private_server import CannotStart, die_with_parent

log = logging.getLogger(__name__)

# A worker that dies at once would otherwise be started a hundred times a second.
PAUSE_SECONDS = 0.5
# Less than that is "at once"; whoever waits for Redis and gives up has lived for longer.
LIVED_SECONDS = 10.0
MOST_FAILURES = 10

WhenStopping = Callable[[signal.Signals], None]


async def keep(
    number: int,
    arguments: list[str],
    environ: Mapping[str, str],
    inherited: Sequence[int],
    when_stopping: WhenStopping,
) -> None:
    """Run so many workers until SIGINT or SIGTERM, which they get, too; the dead are replaced.

    `inherited` are file descriptors that the workers keep open; `when_stopping` is called before
    the workers hear of a signal. Raises CannotStart, when all have ended, if one of them could not
    be started, or died at once again and again.
    """
    loop = asyncio.get_running_loop()
    pool = _Pool(environ, inherited)

    def stop(number: signal.Signals) -> None:
        when_stopping(number)
        pool.stop(number)

    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop, each)
    async with asyncio.TaskGroup() as group:
        for row in range(number):
            group.create_task(pool.keep_one([*arguments, "--row", str(row)]))
    if pool.failure:
        raise CannotStart(pool.failure)


async def is_listening(listener: socket.socket, kept: "asyncio.Task[None]") -> bool:
    """Wait until a worker takes connections; false if they are stopped before that."""
    while not kept.done():
        with socket.socket(listener.family) as probe:
            probe.setblocking(False)
            try:
                await asyncio.get_running_loop().sock_connect(probe, listener.getsockname())
            except OSError:
                await asyncio.sleep(0.02)
            else:
                return True
    return False


class _Pool:
    """The workers that run. `failure` says why they had to be stopped, if nobody asked for it."""

    def __init__(self, environ: Mapping[str, str], inherited: Sequence[int]) -> None:
        self._environ = {**os.environ, **environ}
        self._inherited = inherited
        self._stopping: asyncio.Future[signal.Signals] = asyncio.Future()
        self._running = set[asyncio.subprocess.Process]()
        self.failure = ""

    def stop(self, number: signal.Signals) -> None:
        if not self._stopping.done():
            self._stopping.set_result(number)
            return
        # The second one does not wait, nor do those who do the work.
        for worker in self._running:
            _send(worker, number)

    async def keep_one(self, arguments: list[str]) -> None:
        """Run one worker after the other with these arguments."""
        loop = asyncio.get_running_loop()
        failures = 0
        while not self._stopping.done():
            began = loop.time()
            code = await self._run(arguments)
            failures = failures + 1 if loop.time() < began + LIVED_SECONDS else 0
            if self._stopping.done():
                return
            if failures == MOST_FAILURES:
                return self._fail(
                    f"a worker died at once {failures} times in a row, with exit code {code}"
                )
            log.error("a worker died (%s); starting another", code)
            await asyncio.wait((self._stopping,), timeout=PAUSE_SECONDS)

    async def _run(self, arguments: list[str]) -> int | None:
        """Start a worker, and wait for its end; its exit code, if there was one."""
        try:
            worker = await asyncio.create_subprocess_exec(
                sys.executable,
                # No folder of the working directory is taken for code.
                "-P",
                "-m",
                "footfall",
                *arguments,
                env=self._environ,
                pass_fds=self._inherited,
                # Ctrl-C reaches the whole group: the parent alone decides.
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        except (OSError, subprocess.SubprocessError) as error:
            self._fail(f"a worker could not be started: {error}")
            return None
        self._running.add(worker)
        died = asyncio.create_task(worker.wait())
        await asyncio.wait((self._stopping, died), return_when=asyncio.FIRST_COMPLETED)
        if self._stopping.done():
            _send(worker, self._stopping.result())
        code = await died
        self._running.discard(worker)
        return code

    def _fail(self, reason: str) -> None:
        self.failure = self.failure or reason
        if not self._stopping.done():
            # The others end in order.
            self._stopping.set_result(signal.SIGTERM)


def _send(worker: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        worker.send_signal(number)

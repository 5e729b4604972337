"""Several processes behind one port and one Redis: a parent that keeps them running.

Each worker is `footfall serve` by itself, and the kernel spreads connections over them, so that no
process hands them on (listen.py). They share nothing but Redis, and so every count and limit is
exact across them.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence

from .store.embedded import die_with_parent

log = logging.getLogger(__name__)

# A worker that dies at once would otherwise be started a hundred times a second.
PAUSE_SECONDS = 0.5


async def keep(
    number: int, arguments: list[str], environ: Mapping[str, str], inherited: Sequence[int]
) -> None:
    """Run so many workers until SIGINT or SIGTERM, which they get, too; the dead are replaced.

    `inherited` are file descriptors that the workers keep open.
    """
    loop = asyncio.get_running_loop()
    stopping: asyncio.Future[signal.Signals] = loop.create_future()
    running = set[asyncio.subprocess.Process]()

    def stop(number: signal.Signals) -> None:
        if not stopping.done():
            stopping.set_result(number)
            return
        # The second one does not wait, nor do those who do the work.
        for worker in running:
            with contextlib.suppress(ProcessLookupError):
                worker.send_signal(number)

    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop, each)
    async with asyncio.TaskGroup() as group:
        for row in range(number):
            own = [*arguments, "--row", str(row)]
            group.create_task(_keep_one(own, environ, inherited, stopping, running))


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


async def _keep_one(
    arguments: list[str],
    environ: Mapping[str, str],
    inherited: Sequence[int],
    stopping: "asyncio.Future[signal.Signals]",
    running: set[asyncio.subprocess.Process],
) -> None:
    while not stopping.done():
        worker = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            __package__,
            *arguments,
            env={**os.environ, **environ},
            pass_fds=inherited,
            # Ctrl-C reaches the whole group: the parent alone decides.
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        running.add(worker)
        died = asyncio.create_task(worker.wait())
        await asyncio.wait((stopping, died), return_when=asyncio.FIRST_COMPLETED)
        if died.done():
            running.discard(worker)
        if stopping.done():
            with contextlib.suppress(ProcessLookupError):
                worker.send_signal(stopping.result())
            await died
            return
        log.error("worker %d died (%s); starting another", worker.pid, worker.returncode)
        await asyncio.wait((stopping,), timeout=PAUSE_SECONDS)

"""Several processes behind one port and one Redis: a parent that keeps them running.

Each worker is `footfall serve` by itself, with a socket of its own on the same port (SO_REUSEPORT),
so that the kernel spreads connections and no process hands them on. They share nothing but Redis,
and so every count and limit is exact across them.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Mapping

from .store.embedded import die_with_parent

log = logging.getLogger(__name__)

# A worker that dies at once would otherwise be started a hundred times a second.
PAUSE_SECONDS = 0.5


def reserve(host: str, port: int) -> socket.socket:
    """A socket that keeps the port for the workers, and takes no connections itself."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    reserved = socket.socket(family)
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        reserved.bind((host, port))
    except OSError:
        reserved.close()
        raise
    return reserved


async def keep(number: int, arguments: list[str], environ: Mapping[str, str]) -> None:
    """Run so many workers until SIGINT or SIGTERM; one that dies is started again."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stopping.set)
    async with asyncio.TaskGroup() as group:
        for _ in range(number):
            group.create_task(_keep_one(arguments, environ, stopping))


async def is_listening(host: str, port: int, kept: "asyncio.Task[None]") -> bool:
    """Wait until a worker takes connections; false if they are stopped before that."""
    while not kept.done():
        try:
            _, writer = await asyncio.open_connection(host, port)
        except OSError:
            await asyncio.sleep(0.02)
        else:
            writer.close()
            return True
    return False


async def _keep_one(
    arguments: list[str], environ: Mapping[str, str], stopping: asyncio.Event
) -> None:
    stop = asyncio.create_task(stopping.wait())
    while not stopping.is_set():
        worker = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            __package__,
            *arguments,
            env={**os.environ, **environ},
            # Ctrl-C reaches the whole group: the parent alone decides.
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        died = asyncio.create_task(worker.wait())
        await asyncio.wait((stop, died), return_when=asyncio.FIRST_COMPLETED)
        if stopping.is_set():
            with contextlib.suppress(ProcessLookupError):
                worker.terminate()
            await died
            return
        log.error("worker %d died (%s); starting another", worker.pid, worker.returncode)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), PAUSE_SECONDS)
    stop.cancel()

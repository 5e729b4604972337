"""Tells systemd, by sd_notify(3), that the service has started, its state, and that it lives.

Nothing is sent unless NOTIFY_SOCKET is set, as it is for a unit with Type=notify. Workers send
nothing: their parent does, from what one of them answers.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import orjson

from .listener import asked

log = logging.getLogger(__name__)

# Between two looks at /readyz, if systemd wants no signs of life; and how long it may take.
LOOK_SECONDS = 10.0
ANSWER_SECONDS = 5.0
MAX_STATUS_CHARACTERS = 500


class Systemd:
    """`is_alive` tells whether any worker answers requests: otherwise, no sign of life is sent, and
    systemd restarts the service after WatchdogSec."""

    def __init__(
        self, listener: socket.socket, is_alive: Callable[[], bool] = lambda: True
    ) -> None:
        self._listener = listener
        self._is_alive = is_alive
        self._is_stopping = False
        self._tasks = list[asyncio.Task[None]]()

    @staticmethod
    def starting() -> None:
        tell("STATUS=starting: Redis is not open yet")

    def ready(self) -> None:
        """The service has started; from now on report its state. Call it in an event loop."""
        if not os.environ.get("NOTIFY_SOCKET"):
            return
        tell("READY=1", "STATUS=ready")
        seconds = _watchdog_seconds() / 2
        self._start(self._look(seconds or LOOK_SECONDS))
        if seconds:
            self._start(self._live(seconds))

    def stopping(self) -> None:
        self._is_stopping = True
        tell("STOPPING=1", "STATUS=draining")

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(work))

    async def _look(self, seconds: float) -> None:
        state = "ready"
        while not self._is_stopping:
            status = await status_of(self._listener)
            if status != state and not self._is_stopping:
                state = status
                tell(f"STATUS={status}")
            await asyncio.sleep(seconds)

    async def _live(self, seconds: float) -> None:
        while True:
            if self._is_alive():
                tell("WATCHDOG=1")
            await asyncio.sleep(seconds)


async def status_of(listener: socket.socket) -> str:
    """The content of /readyz there, as one line."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            answer = await asked(listener, "/readyz")
        report = orjson.loads(answer.partition(b"\r\n\r\n")[2])
    except (OSError, ValueError) as error:
        return f"not ready: no answer: {error or type(error).__name__}"
    # Too many connections are answered like any other request.
    reasons = "; ".join(report.get("reasons", [report.get("errmsg", "")]))
    status = report.get("status", "not ready")
    return f"{status}: {reasons}" if reasons else status


def tell(*lines: str) -> None:
    """Send lines to NOTIFY_SOCKET, if there is one; with an @ before it, it is an abstract one."""
    place = os.environ.get("NOTIFY_SOCKET", "")
    if not place:
        return
    text = "\n".join(line.replace("\n", " ")[:MAX_STATUS_CHARACTERS] for line in lines)
    address = f"\0{place[1:]}" if place.startswith("@") else place
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            # A systemd that does not read must not delay requests.
            sender.setblocking(False)
            sender.sendto(text.encode(), address)
    except OSError as error:
        log.warning("NOTIFY_SOCKET takes no message (%s)", error)


def _watchdog_seconds() -> float:
    """How often systemd wants a sign of life of this process; 0 if it wants none."""
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return 0.0
    try:
        return int(os.environ.get("WATCHDOG_USEC", "0")) / 1_000_000
    except ValueError:
        return 0.0

"""Pauses: time for which a request is delayed on purpose, and is not slow."""

import asyncio
from contextvars import ContextVar

# The delay of the current request, in seconds.
_paused: ContextVar[float] = ContextVar("paused", default=0.0)


async def pause(seconds: float) -> None:
    """Wait, in the task of the request."""
    _paused.set(_paused.get() + max(0.0, seconds))
    await asyncio.sleep(seconds)


def paused() -> float:
    return _paused.get()


def start() -> None:
    """A request starts; its context may still have the pauses of the connection's last one."""
    _paused.set(0.0)

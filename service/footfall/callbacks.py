"""Between callbacks, which what many requests share has, and coroutines."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def fulfil(future: "asyncio.Future[T]") -> Callable[[T | Exception], None]:
    """A callback that sets a future's result or exception, unless the future was cancelled."""

    def done(answer: T | Exception) -> None:
        if future.done():
            return
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)

    return done


async def awaited(start: Callable[[Callable[[T | Exception], None]], None]) -> T:
    """Await the value that `begin` passes to its callback; an exception is raised."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    start(fulfil(future))
    return await future


def ignore(answer: object) -> None:
    """The callback of a request whose answer does not matter."""

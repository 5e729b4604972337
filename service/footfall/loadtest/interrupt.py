"""Ctrl-C as a request to end, so that what was seen so far is told; a second one is as always."""

import contextlib
import signal
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def until_ctrl_c(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first Ctrl-C; for the main thread alone."""

    def interrupted(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, before)
        stop()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

"""The first Ctrl-C ends a trial early, so that it still reports; a second one interrupts."""

import contextlib
import signal
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def until_ctrl_c(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first Ctrl-C; only the main thread may use this."""

    def interrupted(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, before)
        stop()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

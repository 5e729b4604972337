"""Ctrl-C and SIGTERM: the first one ends a measurement early, so that it still reports and takes
its counters away; a second one interrupts that, too.
"""

import contextlib
import signal
from collections.abc import Callable, Iterator

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM raises KeyboardInterrupt, as Ctrl-C does: a process that just ends could take nothing
    away. Only the main thread may use this."""

    def interrupted(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def until_interrupted(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first Ctrl-C or SIGTERM; only the main thread may use this."""

    def interrupted(number: int, frame: object) -> None:
        restore()
        stop()

    before = {number: signal.signal(number, interrupted) for number in SIGNALS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    try:
        yield
    finally:
        restore()

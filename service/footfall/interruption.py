"""Ctrl-C and SIGTERM for commands. Until one starts its work, they end the process at once and
without a word: nothing is done yet, and an exception amid the imports would be a traceback. Then
SIGTERM is like Ctrl-C: a command takes away what it leaves, and says what is done."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from types import FrameType

_Handler = Callable[[int, FrameType | None], object]


def not_yet() -> None:
    """No command has started. A signal that is ignored, as behind nohup, stays so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextlib.contextmanager
def started() -> Iterator[None]:
    """During the block there may be something to take away; SIGTERM of the service has a handler of
    its own."""
    handlers: dict[signal.Signals, _Handler] = {}
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        handlers[signal.SIGINT] = signal.default_int_handler
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        handlers[signal.SIGTERM] = _as_ctrl_c
    with _handled(handlers):
        yield


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """Ctrl-C interrupts work of the block that does not wait for anything: an event loop would see
    it only after that."""
    with _handled({signal.SIGINT: signal.default_int_handler}):
        yield


@contextlib.contextmanager
def _handled(handlers: Mapping[signal.Signals, _Handler]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        # No other one may have handlers.
        yield
        return
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _as_ctrl_c(number: int, frame: object) -> None:
    signal.raise_signal(signal.SIGINT)

"""SIGHUP opens the files of the standard output and error again, as logrotate expects: it has given
them other names, and new ones take their place."""

import asyncio
import logging
import os
import signal
import stat
from collections.abc import Callable

log = logging.getLogger(__name__)


def open_again_on_hangup(
    passed_on: Callable[[signal.Signals], object] = lambda number: None,
) -> None:
    """From now on, in this event loop; `passed_on` gets the signal, too. At a terminal SIGHUP ends
    the service, as the terminal is gone."""
    if any(map(os.isatty, (1, 2))):
        return
    files = {number: path for number in (1, 2) if (path := _path_of(number))}

    def again() -> None:
        for number, path in files.items():
            _open_again(number, path)
        passed_on(signal.SIGHUP)

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, again)


def _path_of(number: int) -> str:
    """The path of a regular file, as it is called now; "" for a pipe, a socket or a device."""
    try:
        if stat.S_ISREG(os.fstat(number).st_mode):
            return os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        # It is closed; or there is no /proc.
        pass
    return ""


def _open_again(number: int, path: str) -> None:
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
    except OSError as error:
        log.warning("%s cannot be opened again: %s; it is written on", path, error.strerror)
        return
    os.dup2(file, number)
    os.close(file)

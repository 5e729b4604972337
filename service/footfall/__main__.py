"""The program `footfall`, which is `python -m footfall`, too."""

import errno
import io
import os
import signal
import sys

from . import first_process, interruption
from .cli import probe

OF_FULL_DEVICES = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main() -> None:
    arguments = sys.argv[1:]
    if probe.is_probe(arguments):
        raise SystemExit(probe.probe(arguments))
    _open_standard_files()
    try:
        os.getcwd()
    except OSError as error:
        sys.stderr.write(f"Error: the directory in which this is called: {error.strerror}\n")
        raise SystemExit(1) from None
    is_service = arguments[:1] == ["serve"]
    if is_service:
        # First of all: waiting for Redis may take a while.
        signal.signal(signal.SIGTERM, _end)
        if not any(map(os.isatty, (1, 2))):
            # Before it has a handler, which opens log files again (server/log_files.py).
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interruption.not_yet()
    if first_process.is_first():
        first_process.watch_over_a_child()
    from .cli.main import main as command

    try:
        command(prog_name="footfall")
    except OSError as error:
        if error.errno not in OF_FULL_DEVICES:
            raise
        # Commands name their own files: this is the standard output.
        sys.stderr.write(f"Error: the output cannot be written: {error.strerror}\n")
        raise SystemExit(1) from None
    finally:
        if is_service:
            _give_up_what_nobody_takes()


def _end(number: int, frame: object) -> None:
    # At once, since nothing has started; an exception might be lost in what Python does just then.
    os._exit(0)


def _open_standard_files() -> None:
    """The parent process may have closed them; the next files would take their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # It gets the lowest number that is free.
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character shows another one instead.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _give_up_what_nobody_takes() -> None:
    """Ignore output that a full disk rejects: a clean stop must not fail because of it."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)


if __name__ == "__main__":
    main()

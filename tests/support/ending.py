"""What a run of tests has started ends with it, however the run ends.

Test processes start servers, services and browsers, and these start processes of their own. Killed,
a test process would leave them all behind, with their ports and files. So the process that was
called adopts every orphan below it, and whatever ends the run, it kills all that is still there and
removes the one directory that holds every temporary file.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path
from types import FrameType

PR_SET_CHILD_SUBREAPER = 36
# Between two looks at processes that were killed: they are gone at once.
PAUSE_SECONDS = 0.01


class Run:
    """One run of tests, started by the process that was called."""

    def __init__(self) -> None:
        # A short name: a UNIX socket's path has room for a hundred bytes.
        self.home = Path(tempfile.mkdtemp(prefix="ff"))
        # nginx reads and writes there as another user.
        self.home.chmod(0o711)
        os.environ["TMPDIR"] = tempfile.tempdir = str(self.home)
        self._pid = os.getpid()
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._stop)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.end()
        if number == signal.SIGINT:
            # pytest tells of the tests so far.
            signal.default_int_handler(number, frame)
        # As a shell tells who was ended by a signal.
        os._exit(128 + number)

    def end(self) -> None:
        """Kill whatever is left of the processes, and remove their files."""
        # A process that was forked from this one has inherited it, and ends nothing.
        if os.getpid() != self._pid:
            return
        with contextlib.suppress(ChildProcessError):
            while True:
                children = _children(self._pid)
                for pid in children:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                # Its own children are this process's only when the last of its threads has ended.
                if os.waitpid(-1, os.WNOHANG) == (0, 0):
                    if not children:
                        break
                    time.sleep(PAUSE_SECONDS)
        shutil.rmtree(self.home, ignore_errors=True)


def _children(pid: int) -> list[int]:
    found = list[int]()
    for each in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, each.read_text().split())
    return found

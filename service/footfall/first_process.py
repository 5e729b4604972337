"""The first process of a container: it passes signals on, and takes in processes whose parents have
ended, which would stay as zombies.

The kernel gives such a process no default signal handlers, so that a command would not end by
SIGTERM. So the command runs as its child, which is a process like any other.
"""

import os
import signal

_PASSED_ON = {
    *(signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT, signal.SIGWINCH),
}
# `si_code` of a signal that the kernel sends, such as for Ctrl-C: it goes to all processes of a
# terminal, so that the command has it already.
_BY_KERNEL = 0x80


def is_first() -> bool:
    return os.getpid() == 1


def watch_over_a_child() -> None:
    """Returns in a child, and never in this process, which ends with the child's exit status."""
    awaited = _PASSED_ON | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    child = os.fork()
    if not child:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    # What ended before the signals were awaited has sent its own.
    _reap(child)
    while True:
        came = signal.sigwaitinfo(awaited)
        if came.si_signo == signal.SIGCHLD:
            _reap(child)
        elif came.si_code != _BY_KERNEL:
            os.kill(child, came.si_signo)


def _reap(child: int) -> None:
    """Take in all that have ended, and end with the child."""
    while True:
        # The child is among them until it has ended.
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)

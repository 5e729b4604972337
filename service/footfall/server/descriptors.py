"""File descriptors: a connection is one, and `ulimit -n` limits how many a process may have open.

When none is left, libuv silently closes new connections, and Redis cannot be reached again. So
connections are limited to what leaves RESERVED others; a client beyond that gets 503.
"""

import contextlib
import errno
import logging
import os
import resource
from collections.abc import Iterator
from time import monotonic

from ..telemetry.metrics import Metrics

log = logging.getLogger(__name__)

# For Redis, files, emails and whatever else is not a client's; half of a limit that is very low.
RESERVED = 64
# A private Redis starts with no fewer, and so does Python's event loop.
LEAST = 64
# More are of no use, and `ulimit -n` may be unlimited.
MOST = 1 << 21
# Between two lines about it.
QUIET_SECONDS = 60.0
HOW_TO_RAISE_IT = "raise it (systemd: LimitNOFILE=, Docker: --ulimit nofile=)"


def limit() -> int:
    """The limit of this process, after it has been raised as far as allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(_finite(hard), MOST)
    if _finite(soft) < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return _finite(soft)


def _finite(value: int) -> int:
    return MOST if value == resource.RLIM_INFINITY else value


def room() -> int:
    """The number of connections for which there are descriptors."""
    most = limit()
    return most - min(RESERVED, most // 2)


def advice(connections: int) -> Iterator[str]:
    """A warning if there are too few for this many connections."""
    if connections > room():
        yield (
            f"`ulimit -n` is {limit()}, too low for MAX_CONNECTIONS={connections}: a worker takes "
            f"{room()} connections, and more get 503; {HOW_TO_RAISE_IT} to "
            f"{connections + RESERVED}, or lower MAX_CONNECTIONS"
        )


class Shortage:
    """Detects that no descriptor is left, or that a worker with at most `connections` has rejected
    some for lack of them."""

    def __init__(self, metrics: Metrics, connections: int) -> None:
        self._metrics = metrics
        self._connections = connections
        self._limit = limit()
        # With enough of them, MAX_CONNECTIONS rejects clients.
        self._is_limited = connections >= room()
        self._refused = metrics.turned_away.own
        self._quiet_until = 0.0

    def look(self) -> None:
        """Count and log it if that was so since the last look."""
        before, self._refused = self._refused, self._metrics.turned_away.own
        reason = _shortage()
        if not reason and not (self._is_limited and self._refused > before):
            return
        self._metrics.descriptors_exhausted.add()
        if monotonic() >= self._quiet_until:
            self._quiet_until = monotonic() + QUIET_SECONDS
            log.error(
                "no file descriptor is left for a client%s: `ulimit -n` is %d, and a worker takes "
                "%d connections at most; %s",
                reason,
                self._limit,
                self._connections,
                HOW_TO_RAISE_IT,
            )


def _shortage() -> str:
    """The system's error if it has no descriptor for this process, or for any; "" if it has one."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            return f" ({error.strerror})"
    return ""

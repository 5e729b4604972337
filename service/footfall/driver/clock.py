"""The time of this machine, unless it differs from Redis's by more than a minute.

By its clock Redis removes what expires, and by that of a process days are summed, and views and
comments dated. What one of them does for a wrong day is lost, or stays wrong: so all take Redis's.
A clock that is set while the process runs is noticed with the next call, since a steady clock goes
on from the last comparison.
"""

import time
from collections.abc import Sequence

# A minute, and what Redis's whole seconds may hide.
MOST_OFF_MS = 61_000

# Linux's counts the time that a suspended machine sleeps.
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock:
    """Unix time in ms."""

    def __init__(self) -> None:
        # Redis's time less that of the steady clock, once they were compared; and that of this
        # machine then.
        self._ahead_ms: int | None = None
        self._own_ahead_ms = 0

    def __call__(self) -> int:
        now_ms = _own_ms()
        if self._ahead_ms is None:
            return now_ms
        of_redis_ms = _steady_ms() + self._ahead_ms
        return now_ms if abs(now_ms - of_redis_ms) <= MOST_OFF_MS else of_redis_ms

    @property
    def was_set(self) -> bool:
        """Has the clock of this machine been set since the last comparison?"""
        moved_ms = _own_ms() - _steady_ms() - self._own_ahead_ms
        return self._ahead_ms is not None and abs(moved_ms) > MOST_OFF_MS / 2

    def compare(self, seconds: Sequence[int]) -> None:
        """With the Unix time of each server, which has just come. Of several, most are right."""
        if seconds:
            middle = sorted(seconds)[len(seconds) // 2]
            self._ahead_ms = middle * 1000 + 500 - _steady_ms()
            self._own_ahead_ms = _own_ms() - _steady_ms()


def _own_ms() -> int:
    return time.time_ns() // 1_000_000


def _steady_ms() -> int:
    return time.clock_gettime_ns(_STEADY) // 1_000_000

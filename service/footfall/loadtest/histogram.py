"""Latencies in a few kilobytes, however many there are.

The well-kept library for this has no wheel for Linux on ARM; what is needed of it fits below.
"""

import math
from collections import Counter

# A latency is kept to three digits: 1,234 us counts as 1,232 us.
DIGIT_BITS = 9


def rank(n: int, share: float) -> int:
    """Which of n sorted values is the smallest that at least this share does not exceed."""
    # Rounded first, since 0.99 * 100 is a little more than 99.
    return max(math.ceil(round(share * n, 9)) - 1, 0)


class Histogram:
    """Latencies in whole microseconds."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.n = 0
        self.greatest = 0

    def add(self, us: int) -> None:
        shift = max(us.bit_length() - DIGIT_BITS, 0)
        self._counts[us >> shift << shift] += 1
        self.n += 1
        if us > self.greatest:
            self.greatest = us

    def at(self, share: float) -> int:
        """The latency that this share of the requests did not exceed; 0 when there were none."""
        left = rank(self.n, share)
        for us in sorted(self._counts):
            left -= self._counts[us]
            if left < 0:
                return us
        return 0

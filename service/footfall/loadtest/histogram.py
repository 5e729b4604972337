"""A histogram of latencies that takes a few kilobytes, however many there are.

HdrHistogram for Python has no wheel for Linux on ARM, and these few lines are enough.
"""

import math
from collections import Counter

# Latencies have three significant digits: 1,234 us counts as 1,232 us.
SIGNIFICANT_BITS = 9


def rank(n: int, share: float) -> int:
    """The index, in n sorted values, of the smallest that at least this share does not exceed."""
    # Rounded, because 0.99 * 100 is a little more than 99.
    return max(math.ceil(round(share * n, 9)) - 1, 0)


class Histogram:
    """Latencies in whole microseconds."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.n = 0
        self.greatest = 0

    def add(self, us: int) -> None:
        shift = max(us.bit_length() - SIGNIFICANT_BITS, 0)
        self._counts[us >> shift << shift] += 1
        self.n += 1
        if us > self.greatest:
            self.greatest = us

    def at(self, share: float) -> int:
        """The latency in us that this share of the requests did not exceed; 0 without requests."""
        left = rank(self.n, share)
        for us in sorted(self._counts):
            left -= self._counts[us]
            if left < 0:
                return us
        return 0

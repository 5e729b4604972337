"""What a table says of repeated runs: medians with their spread, ratios pair by pair, percentiles.

Ratios are taken within a round and only then summed up: two servers that ran in the same minute
share that minute's weather, two medians of an hour do not.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

# A run in which others used more than this share of our cores says nothing about us.
NOISE = 0.12
# A latency is kept to three digits: 1,234 us counts as 1,232 us.
DIGIT_BITS = 9


@dataclass(frozen=True, slots=True)
class Spread:
    """A median with its least and greatest, of `n` values."""

    median: float
    least: float
    greatest: float
    n: int

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread | None":
        """None when there is no value."""
        found = sorted(values)
        return cls(median(found), found[0], found[-1], len(found)) if found else None


def ratios(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Spread | None:
    """Ours through theirs, round by round; rounds that only one of them has do not count."""
    rounds = sorted(ours.keys() & theirs.keys())
    return Spread.of(ours[each] / theirs[each] for each in rounds if theirs[each])


def is_noisy(foreign: float, threshold: float = NOISE) -> bool:
    return foreign > threshold


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    if not values:
        raise ValueError("no values, no percentile")
    return sorted(values)[_rank(len(values), share)]


def _rank(n: int, share: float) -> int:
    # Rounded first, since 0.99 * 100 is a little more than 99.
    return max(math.ceil(round(share * n, 9)) - 1, 0)


class Histogram:
    """Latencies in whole microseconds, in a few kilobytes however many there are."""

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
        rank = _rank(self.n, share)
        for us in sorted(self._counts):
            rank -= self._counts[us]
            if rank < 0:
                return us
        return 0

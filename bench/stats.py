"""Statistics of repeated runs: medians with their spread, ratios pair by pair, percentiles.

Ratios are computed within a round and only then summarised: two servers that ran in the same minute
had the same conditions, two medians over an hour did not.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from footfall.loadtest.load import rank

# A run in which other processes used more than this share of our cores is worthless.
NOISE = 0.12


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
    """Ours divided by theirs, round by round; rounds that only one of them has do not count."""
    rounds = sorted(ours.keys() & theirs.keys())
    return Spread.of(ours[each] / theirs[each] for each in rounds if theirs[each])


def is_noisy(foreign: float, threshold: float = NOISE) -> bool:
    return foreign > threshold


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    if not values:
        raise ValueError("no values, no percentile")
    return sorted(values)[rank(len(values), share)]

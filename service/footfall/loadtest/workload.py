"""The workloads: requests of a site's visitors. They are drawn with fixed seeds, so all
measurements send the same, except for the namespace of the paths.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, cycle
from random import Random

from .target import PATHS_A_READ, Target

# Lists of fifty paths that are prepared, since they have three kilobytes each.
LISTS = 512
# The share of increments in `checks`.
INCREMENT_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """`path` is the one path that it counts or reads, whose response the ledger checks; or ""."""

    message: bytes
    path: str = ""
    is_increment: bool = False


def zipf(random: Random, n: int) -> Iterator[int]:
    """Random ranks from 0 to n-1, the k-th one with a probability in proportion to 1/k."""
    weights = list(accumulate(1 / rank for rank in range(1, n + 1)))
    while True:
        yield from random.choices(range(n), cum_weights=weights, k=1024)


class Workload:
    """The comments of `article` are read; without it, those of a path that has none."""

    def __init__(self, target: Target, paths: Sequence[str], article: str | None = None) -> None:
        self._target = target
        self._paths = paths
        self._views = [LoadRequest(target.view(path), path, is_increment=True) for path in paths]
        self._reads = [LoadRequest(target.read([path]), path) for path in paths]
        self._page = LoadRequest(target.page(article or paths[0]))

    def reads(self) -> Iterator[LoadRequest]:
        """The count of one path."""
        return map(self._reads.__getitem__, self._ranks("reads"))

    def views(self) -> Iterator[LoadRequest]:
        return map(self._views.__getitem__, self._ranks("views"))

    def lists(self) -> Iterator[LoadRequest]:
        """The counts of fifty paths, as a list of articles shows them."""
        random = Random("lists")
        lists = [random.sample(self._paths, PATHS_A_READ) for _ in range(LISTS)]
        return cycle([LoadRequest(self._target.read(paths)) for paths in lists])

    def pages(self) -> Iterator[LoadRequest]:
        """The first page of comments."""
        return cycle([self._page])

    def site(self) -> Iterator[LoadRequest]:
        """A visit reads its article's count and raises it; every tenth also reads the comments."""
        random = Random("site")
        for rank in self._ranks("visits"):
            kind = random.random()
            if kind < 0.95:
                yield (self._reads if kind < 0.475 else self._views)[rank]
            else:
                yield self._page

    def checks(self) -> Iterator[LoadRequest]:
        """Increments and reads of all paths alike."""
        random = Random("checks")
        while True:
            yield random.choice(self._views if random.random() < INCREMENT_SHARE else self._reads)

    def _ranks(self, seed: str) -> Iterator[int]:
        return zipf(Random(seed), len(self._paths))

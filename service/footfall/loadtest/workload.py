"""The workloads: requests of a site's visitors, in bytes.

They are drawn with fixed seeds, so all measurements send the same, except for the namespace of the
paths.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from random import Random

from .target import PATHS_A_READ, Target

PATHS = 1_000
# Requests that are prepared for a row and sent in turn: enough to have Zipf's tail.
POOL_REQUESTS = 8_192
# Reads of fifty paths have three kilobytes each, so there are fewer.
LONG_POOL_REQUESTS = 512


def zipf(random: Random, n: int) -> Iterator[int]:
    """Random ranks from 0 to n-1, the k-th one with a probability in proportion to 1/k."""
    weights = list(accumulate(1 / rank for rank in range(1, n + 1)))
    while True:
        yield from random.choices(range(n), cum_weights=weights, k=1024)


class Workload:
    """The comments of `article` are read; without it, those of a path that has none."""

    def __init__(self, target: Target, namespace: str, article: str | None = None) -> None:
        self.namespace = namespace
        self.paths = [f"{namespace}{n:04d}" for n in range(PATHS)]
        self._target = target
        self._article = article or self.paths[0]

    def reads(self) -> list[bytes]:
        """The count of one path."""
        return [self._target.read([path]) for path in self._drawn("reads")]

    def views(self) -> list[bytes]:
        return [self._target.view(path) for path in self._drawn("views")]

    def lists(self) -> list[bytes]:
        """The counts of fifty paths, as a list of articles shows them."""
        random = Random("lists")
        return [
            self._target.read(random.sample(self.paths, PATHS_A_READ))
            for _ in range(LONG_POOL_REQUESTS)
        ]

    def pages(self) -> list[bytes]:
        """The first page of comments."""
        return [self._target.page(self._article)]

    def site(self) -> list[bytes]:
        """A visit reads its article's count and raises it; every tenth also reads the comments."""
        random = Random("site")
        (page,) = self.pages()
        made = []
        for path in self._drawn("visits"):
            kind = random.random()
            if kind < 0.475:
                made.append(self._target.read([path]))
            elif kind < 0.95:
                made.append(self._target.view(path))
            else:
                made.append(page)
        return made

    def _drawn(self, seed: str) -> Sequence[str]:
        ranks = zipf(Random(seed), PATHS)
        return [self.paths[next(ranks)] for _ in range(POOL_REQUESTS)]

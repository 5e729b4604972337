"""What visitors of a site ask for, as requests ready to be sent.

The draws are seeded: every trial asks the same, but for the namespace that its paths begin with.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from random import Random

from .target import PATHS_AT_ONCE, Target

PATHS = 1_000
# Requests prepared for a row, taken in turn. Enough that Zipf's tail is there.
POOL = 8_192
# These are three kilobytes each.
LONG_POOL = 512


def zipf(random: Random, n: int) -> Iterator[int]:
    """Ranks from 0, the k-th drawn in proportion to 1/k."""
    weights = list(accumulate(1 / rank for rank in range(1, n + 1)))
    while True:
        yield from random.choices(range(n), cum_weights=weights, k=1024)


class Workload:
    """`article` is one whose comments are read; without it, one that has none."""

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
            self._target.read(random.sample(self.paths, PATHS_AT_ONCE)) for _ in range(LONG_POOL)
        ]

    def pages(self) -> list[bytes]:
        """The first page of comments."""
        return [self._target.page(self._article)]

    def site(self) -> list[bytes]:
        """A visit reads its article's count and raises it; one in ten looks at the comments."""
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
        return [self.paths[next(ranks)] for _ in range(POOL)]

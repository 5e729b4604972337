"""Metrics in memory that all workers share: each worker has a row of numbers.

A worker writes only its own row, so no lock is needed; the worker that answers /metrics adds the
rows up. A worker that is restarted continues its row, so totals never fall. The parent of several
workers has the last row.
"""

from __future__ import annotations

import mmap
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate

from ..errors import ServiceError

# The route of unknown paths and of unreadable requests.
OTHER = "other"
# Results of attempted notifications.
DELIVERIES = ("delivered", "gathered", "dropped", "failed", "given up")
# What may be wrong with Redis, by the codes of driver/safety.py.
FINDINGS = (
    "unseen",
    "evicts",
    "no_file",
    "no_wait",
    "no_flush",
    "rewrite_unflushed",
    "clock",
    "other_data",
    "away",
    "loading",
    "descriptors",
    "password",
    "wrong_kind",
    "full",
    "replica",
    "alone",
    "file_fails",
    "unconfirmed",
    "busy",
    "cluster_down",
    "refused",
    "rights",
    "rights_minor",
    "rewrite_fails",
    "memory_low",
    "disk_full",
    "disk_low",
    "disk_slow",
)
# What limits one address or account: rates, and the pools of limits/pools.py, of which no client
# may have more than its share.
LIMITS = (
    "COUNTER_RATE",
    "NEW_COUNTER_RATE",
    "IPQPS",
    "COMMENT_LIMIT",
    "MAX_CONNECTIONS",
    "attempts",
    "bans",
    "captchas",
    "rendering",
    "passwords",
    "pages",
    "feeds",
    "statistics",
    "log_ins",
    "mails",
    "retried_mails",
    "streams",
    "bulk_actions",
)
# Upper bounds of histograms. A request takes the least of SECONDS; clients stop waiting at the
# greatest.
SECONDS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000)


def statuses() -> Sequence[str]:
    """The statuses that answers have, 200 first; any other counts as the last one, which is 500."""
    good = ("200", "201", "204", "302", "303", "304", "307")
    bad = {str(error.status) for error in ServiceError.below()} - {"200", "500"}
    return (*good, *sorted(bad), "500")


class Numbers:
    """A range of this worker's row, and the same range of all rows."""

    def __init__(
        self, rows: Sequence[memoryview[float]], row: int, first: int, number: int
    ) -> None:
        self._rows = [row[first : first + number] for row in rows]
        self.own = self._rows[row]

    def totals(self) -> list[float]:
        return [sum(row[i] for row in self._rows) for i in range(len(self.own))]

    def firsts(self) -> list[float]:
        """The first number of each row."""
        return [row[0] for row in self._rows]


class Counter:
    """A counter or gauge with a number for each key, the value of its label.

    An unknown key counts as the last one.
    """

    def __init__(self, numbers: Numbers, keys: Sequence[str] = ("",)) -> None:
        self._numbers = numbers
        self._places = {key: i for i, key in enumerate(keys)}

    def add(self, key: str = "") -> None:
        self._numbers.own[self._place(key)] += 1

    def show(self, value: float, key: str = "") -> None:
        """Set the value of a gauge."""
        self._numbers.own[self._place(key)] = value

    @property
    def own(self) -> float:
        """The sum of this worker's numbers."""
        return sum(self._numbers.own)

    @property
    def total(self) -> float:
        return sum(self._numbers.totals())

    def by_worker(self) -> list[float]:
        """The value of each worker, of a metric without a label."""
        return self._numbers.firsts()

    def totals(self) -> Mapping[str, float]:
        return dict(zip(self._places, self._numbers.totals(), strict=True))

    def _place(self, key: str) -> int:
        return self._places.get(key, len(self._places) - 1)


class Histogram:
    def __init__(self, numbers: Numbers, bounds: Sequence[float]) -> None:
        self._numbers = numbers
        self.own = numbers.own
        self._bounds = bounds

    def observe(self, value: float) -> None:
        own = self.own
        own[bisect_left(self._bounds, value)] += 1
        own[-1] += value

    def totals(self) -> tuple[list[tuple[str, float]], float]:
        """[(upper bound, how many values are not above it), …] and the sum of all values."""
        *numbers, sum_ = self._numbers.totals()
        bounds = [*map(str, self._bounds), "+Inf"]
        return list(zip(bounds, accumulate(numbers), strict=True)), sum_


class Route:
    """The requests of one route: their number per status, and their durations.

    Requests with status 200 have a histogram of their own, which is their counter, too: so they are
    written in one step, and readers need not subtract numbers that change meanwhile.
    """

    def __init__(self, name: str, well: Histogram, others: Counter, otherwise: Histogram) -> None:
        self.name = name
        self._well = well
        self._own = well.own
        self._others = others
        self._otherwise = otherwise

    def took(self, seconds: float, status: int) -> None:
        if status == 200:
            # As `observe` does, since most requests come here.
            own = self._own
            own[bisect_left(SECONDS, seconds)] += 1
            own[-1] += seconds
            return
        self.count(status)
        self._otherwise.observe(seconds)

    def count(self, status: int) -> None:
        """Count a response other than 200, whose duration means nothing."""
        self._others.add(str(status))

    def by_status(self) -> Iterator[tuple[str, float]]:
        """The numbers of the statuses that occurred."""
        buckets, _ = self._well.totals()
        numbers = {"200": buckets[-1][1], **self._others.totals()}
        yield from ((status, number) for status, number in numbers.items() if number)

    def seconds(self) -> tuple[list[tuple[str, float]], float]:
        """The totals of both histograms together."""
        buckets, sum_ = self._well.totals()
        more, more_sum = self._otherwise.totals()
        both = [(bound, n + m) for (bound, n), (_, m) in zip(buckets, more, strict=True)]
        return both, sum_ + more_sum


def _rows(memory: mmap.mmap, row_bytes: int) -> list[memoryview[float]]:
    starts = range(0, len(memory), row_bytes)
    return [memoryview(memory)[start : start + row_bytes].cast("d") for start in starts]


class Metrics:
    """All metrics, in the row of one worker; without `memory`, of this process alone.

    `routes` are the names of all routes; other requests have the route OTHER. The size of a row
    follows from them: `row_bytes`, in whole pages of memory.
    """

    def __init__(
        self, memory: mmap.mmap | None = None, row: int = 0, *, routes: Sequence[str] = ()
    ) -> None:
        # Only the first worker logs what concerns all of them.
        self.is_first = row == 0
        used = 0

        def measure(number: int) -> Numbers:
            nonlocal used
            used += number
            return Numbers([memoryview(bytearray(8 * number)).cast("d")], 0, 0, number)

        # What a row has is known after it was laid out once, on memory that is then forgotten.
        self._lay_out(routes, measure)
        self.row_bytes = -(-8 * used // mmap.PAGESIZE) * mmap.PAGESIZE
        rows = _rows(memory or mmap.mmap(-1, self.row_bytes), self.row_bytes)
        used = 0

        def take(number: int) -> Numbers:
            nonlocal used
            used += number
            return Numbers(rows, row, used - number, number)

        self._lay_out(routes, take)

    def _lay_out(self, routes: Sequence[str], take: Callable[[int], Numbers]) -> None:
        def counter(keys: Sequence[str] = ("",)) -> Counter:
            return Counter(take(len(keys)), keys)

        def histogram(bounds: Sequence[float]) -> Histogram:
            return Histogram(take(len(bounds) + 2), bounds)

        _, *others = statuses()
        self.routes = {
            name: Route(name, histogram(SECONDS), counter(others), histogram(SECONDS))
            for name in (*routes, OTHER)
        }
        self.refused = counter([error.__name__ for error in (*ServiceError.below(), ServiceError)])
        self.limits = counter(LIMITS)
        self.redis_seconds, self.batch_requests = histogram(SECONDS), histogram(SIZES)
        self.redis_failures = counter()
        self.turned_away = counter()
        self.descriptors_exhausted = counter()
        self.connections = counter()
        self.waiting = counter()
        self.pages_bytes = counter()
        self.deliveries = counter(DELIVERIES)
        # The process of each worker, 0 for none.
        self.pid = counter()
        self.loop_lag = histogram(SECONDS)
        # The parent sees by it that the event loop of a worker goes on.
        self.ticks = counter()
        self.worker_restarts = counter()
        self.findings = counter(FINDINGS)
        # Does something hurt requests of this worker?
        self.hurt = counter()

    def refuse(self, error: ServiceError) -> None:
        """Count the answer to no whole request; how long that took was up to its client."""
        self.refused.add(type(error).__name__)
        self.routes[OTHER].count(error.status)

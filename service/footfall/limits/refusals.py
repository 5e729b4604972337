"""Who floods: whom a service refuses, how often, and by which limit."""

from collections import Counter

from ..netaddr import limit_key, network_key
from ..telemetry.metrics import Counter as Metric

# Clients that are counted apart.
MOST_CLIENTS = 1000


class Refusals:
    """What this process has refused since the last `take`, for each client and limit.

    Of more than MOST_CLIENTS each one counts for less than it was, but none that had more than one
    in MOST_CLIENTS of all refusals is missing (Misra and Gries 1982).
    """

    def __init__(self, metric: Metric) -> None:
        self._metric = metric
        self._numbers = Counter[tuple[str, str]]()

    def note(self, address: str, limit: str) -> None:
        """A limit has refused what this address wanted. A /48 counts as one client."""
        self._metric.add(limit)
        client = limit_key(address)
        entry = network_key(client) or client, limit
        if entry in self._numbers or len(self._numbers) < MOST_CLIENTS:
            self._numbers[entry] += 1
        else:
            self._numbers = Counter({key: n - 1 for key, n in self._numbers.items() if n > 1})

    def take(self) -> Counter[tuple[str, str]]:
        """(client, limit) -> refusals. The next ones are counted from 0."""
        taken, self._numbers = self._numbers, Counter()
        return taken

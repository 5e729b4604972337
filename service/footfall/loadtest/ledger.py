"""What clients were told of counters that they alone change, and whether all of it can be true.

Every increment is by one and nobody else knows these paths. So each is told a number that no other
was, never more than were sent, and above what every increment had been told when it was sent; a
read is never below that. What was accepted is therefore known number by number, and not only as a
sum. What a read was told is no floor: it may have seen an increment that was still waiting for the
disk or for replicas, and that a failover took back before it was accepted.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from .load import MAX_REFUSALS, Verdict

# Wrong answers that are told in full; the others are only counted.
MAX_TOLD = 10


class Ledger:
    """Increments are `accepted` (told a count), `unknown` (no answer, or none that says whether it
    was done) or `refused` (certainly not done). Times are seconds by one clock of the caller's.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths
        self.sent = dict.fromkeys(paths, 0)
        self.accepted = dict.fromkeys(paths, 0)
        self.unknown = dict.fromkeys(paths, 0)
        self.refused = 0
        self.reads = 0
        self.hung = 0
        self.troubles: Counter[str] = Counter()
        self.wrong = 0
        self.wrongs: list[str] = []
        self.counted: Mapping[str, int] = {}
        # A byte for each number that an increment may be told.
        self._told = {path: bytearray(1) for path in paths}
        self._highest = dict.fromkeys(paths, 0)
        self._waiting = 0
        self._quiet_since: float | None = None
        self.longest_outage = 0.0

    # What is asked and answered.

    def asks(self, path: str, *, is_increment: bool) -> int:
        """Before it is sent: the number that no answer to it may be below."""
        if is_increment:
            self.sent[path] += 1
            self._told[path].append(0)
        return self._highest[path]

    def raised(self, path: str, count: int, floor: int) -> None:
        """An increment was told this count."""
        self.accepted[path] += 1
        told = self._told[path]
        if not 0 < count < len(told):
            self._is_wrong(f"{path} was told {count} of {self.sent[path]} increments")
        elif told[count]:
            self._is_wrong(f"{path} was told {count} twice")
        elif count <= floor:
            self._is_wrong(f"{path} was raised to {count} after {floor} was known")
        else:
            told[count] = 1
            self._highest[path] = max(self._highest[path], count)

    def read(self, path: str, count: int, floor: int) -> None:
        """A read was told this count."""
        if not floor <= count <= self.sent[path]:
            self._is_wrong(
                f"{path} read as {count} after {floor} was known and {self.sent[path]} were sent"
            )

    def trouble(self, words: str) -> None:
        if words in self.troubles or len(self.troubles) < MAX_REFUSALS:
            self.troubles[words] += 1

    def read_back(self, counts: Sequence[int]) -> None:
        """The counts of all paths after everything."""
        self.counted = dict(zip(self.paths, counts, strict=True))
        for path, count in self.counted.items():
            self.read(path, count, self._highest[path])

    def _is_wrong(self, words: str) -> None:
        self.wrong += 1
        if len(self.wrongs) < MAX_TOLD:
            self.wrongs.append(words)

    # How long nobody was answered.

    def began(self, now: float) -> None:
        self._waiting += 1
        if self._quiet_since is None:
            self._quiet_since = now

    def ended(self, now: float, *, is_good: bool) -> None:
        self._waiting -= 1
        if is_good:
            self.longest_outage = max(self.longest_outage, self.quiet(now))
            self._quiet_since = now if self._waiting else None

    def quiet(self, now: float) -> float:
        """How long somebody has asked and nobody has been answered as they should."""
        return 0.0 if self._quiet_since is None else now - self._quiet_since

    # What it comes to.

    def verdicts(self) -> dict[str, Verdict]:
        """By path: a loss on one must not be hidden by a surplus on another."""
        return {
            path: Verdict(self.accepted[path], count, self.unknown[path])
            for path, count in self.counted.items()
        }

    @property
    def total(self) -> Verdict:
        return Verdict(
            sum(self.accepted.values()), sum(self.counted.values()), sum(self.unknown.values())
        )

"""The counts in all answers about counters that only our clients change, and if they can be true.

Every increment is by one, and no other client knows these paths. So each increment is answered with
a count that no other one got, not more than were sent, and greater than all counts that were
answered before it was sent, which are its floor; a read is not below its floor. So accepted
increments are checked one by one, and not only their sum. The count of a read is no floor: the read
may have seen an increment that still waited for the disk or for replicas, and was lost by a
failover before it was accepted.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from ..plurals import number_of
from .load import MAX_REFUSALS, Verdict

# Wrong answers that are listed; all are counted.
MAX_LISTED = 10


class Ledger:
    """Increments are `accepted` (answered with a count), `unknown` (no answer, or none that says if
    it was done) or `refused` (certainly not done). Times are in seconds, by the caller's clock.
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
        # For each path and each count, 1 if an increment was answered with it.
        self._answered = {path: bytearray(1) for path in paths}
        self._highest = dict.fromkeys(paths, 0)
        self._waiting = 0
        self._quiet_since: float | None = None
        self.longest_outage = 0.0

    # Requests and answers.

    def sends(self, path: str, *, is_increment: bool) -> int:
        """Note a request before it is sent; returns its floor."""
        if is_increment:
            self.sent[path] += 1
            self._answered[path].append(0)
        return self._highest[path]

    def raised(self, path: str, count: int, floor: int) -> None:
        """Note that an increment with this floor was answered with this count."""
        self.accepted[path] += 1
        answered = self._answered[path]
        if not 0 < count < len(answered):
            self._is_wrong(
                f"{path} got the count {count} with {number_of(self.sent[path], 'increment')}"
            )
        elif answered[count]:
            self._is_wrong(f"{path} got the count {count} twice")
        elif count <= floor:
            self._is_wrong(f"{path} was raised to {count} after {floor} was known")
        else:
            answered[count] = 1
            self._highest[path] = max(self._highest[path], count)

    def read(self, path: str, count: int, floor: int) -> None:
        """Note that a read with this floor was answered with this count."""
        if not floor <= count <= self.sent[path]:
            self._is_wrong(
                f"{path} read as {count} after {floor} was known and {self.sent[path]} were sent"
            )

    def trouble(self, words: str) -> None:
        if words in self.troubles or len(self.troubles) < MAX_REFUSALS:
            self.troubles[words] += 1

    def read_back(self, counts: Sequence[int]) -> None:
        """Note the counts of all paths at the end."""
        self.counted = dict(zip(self.paths, counts, strict=True))
        for path, count in self.counted.items():
            self.read(path, count, self._highest[path])

    def _is_wrong(self, words: str) -> None:
        self.wrong += 1
        if len(self.wrongs) < MAX_LISTED:
            self.wrongs.append(words)

    # Outages.

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
        """For how long requests have waited and none was answered well."""
        return 0.0 if self._quiet_since is None else now - self._quiet_since

    # Results.

    def verdicts(self) -> dict[str, Verdict]:
        """Path -> verdict: a surplus on one path must not hide a loss on another."""
        return {
            path: Verdict(self.accepted[path], count, self.unknown[path])
            for path, count in self.counted.items()
        }

    @property
    def total(self) -> Verdict:
        return Verdict(
            sum(self.accepted.values()), sum(self.counted.values()), sum(self.unknown.values())
        )

"""The counts in all responses about counters that only our clients change, and whether they can be
true.

Every increment is by one, and no other client knows these paths. So each increment gets a count
that no other one got, not more than were sent, and greater than all counts that were known before
it was sent, which are its floor; a read is not below its floor. So accepted increments are checked
one by one, and not only their sum. The count of a read is not a floor: the read may have seen an
increment that was still waiting for the disk or for replicas, and was lost by a failover before it
was accepted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..plurals import number_of

# Wrong responses that are listed; all are counted.
MAX_LISTED = 10


@dataclass(frozen=True, slots=True)
class Verdict:
    """Is every acknowledged change counted, and nothing else?

    It is not known if requests without a response were counted, so any count from `accepted` to
    `accepted + unknown` is exact.
    """

    accepted: int
    counted: int
    unknown: int = 0

    @property
    def is_exact(self) -> bool:
        return self.accepted <= self.counted <= self.accepted + self.unknown

    def __str__(self) -> str:
        numbers = f"accepted {self.accepted:,}, counted {self.counted:,}"
        if self.unknown:
            numbers += f", unknown {self.unknown:,}"
        if self.is_exact:
            return f"exact ({numbers})"
        if self.counted < self.accepted:
            return f"LOST {self.accepted - self.counted:,} ({numbers})"
        return f"COUNTED TWICE {self.counted - self.accepted - self.unknown:,} ({numbers})"


class Ledger:
    """Increments are `accepted` (their response has a count), `unknown` (no response, or none that
    shows if it was done) or `refused` (certainly not done)."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths
        self.sent = dict.fromkeys(paths, 0)
        self.accepted = dict.fromkeys(paths, 0)
        self.unknown = dict.fromkeys(paths, 0)
        self.refused = 0
        self.reads = 0
        self.wrong = 0
        self.wrongs: list[str] = []
        self.counted: Mapping[str, int] = {}
        # For each path and each count, 1 if an increment got it.
        self._taken = {path: bytearray(1) for path in paths}
        self._highest = dict.fromkeys(paths, 0)

    def sends(self, path: str, *, is_increment: bool) -> int:
        """Note a request before it is sent; returns its floor."""
        if is_increment:
            self.sent[path] += 1
            self._taken[path].append(0)
        return self._highest[path]

    def raised(self, path: str, count: int, floor: int) -> None:
        """Note that an increment with this floor got this count."""
        self.accepted[path] += 1
        taken = self._taken[path]
        if not 0 < count < len(taken):
            self._is_wrong(
                f"{path} got the count {count} with {number_of(self.sent[path], 'increment')}"
            )
        elif taken[count]:
            self._is_wrong(f"{path} got the count {count} twice")
        elif count <= floor:
            self._is_wrong(f"{path} was raised to {count} after {floor} was known")
        else:
            taken[count] = 1
            self._highest[path] = max(self._highest[path], count)

    def read(self, path: str, count: int, floor: int) -> None:
        """Note that a read with this floor got this count."""
        self.reads += 1
        if not floor <= count <= self.sent[path]:
            self._is_wrong(
                f"{path} read as {count} after {floor} was known and {self.sent[path]} were sent"
            )

    def read_back(self, counts: Sequence[int]) -> None:
        """Note the counts of all paths at the end."""
        self.counted = dict(zip(self.paths, counts, strict=True))

    def close(self) -> None:
        """Check the final counts."""
        for path, count in self.counted.items():
            self.read(path, count, self._highest[path])

    def _is_wrong(self, text: str) -> None:
        self.wrong += 1
        if len(self.wrongs) < MAX_LISTED:
            self.wrongs.append(text)

    @property
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

    @property
    def is_exact(self) -> bool:
        """Is every path's count exact, and can every response be true?"""
        verdicts = self.verdicts.values()
        return bool(verdicts) and all(verdict.is_exact for verdict in verdicts) and not self.wrong

    def verdict(self, unread: str) -> str:
        """The result in a line; `unread` is why the counts could not be read back."""
        total = self.total
        if not self.counted:
            return (
                f"accepted {total.accepted:,}, unknown {total.unknown:,}, "
                f"but the counts cannot be read: {unread}"
            )
        wrong = {path: verdict for path, verdict in self.verdicts.items() if not verdict.is_exact}
        if wrong and total.is_exact:
            path, worst = next(iter(wrong.items()))
            return f"WRONG on {number_of(len(wrong), 'path')}, though not in sum; {path}: {worst}"
        return str(total)

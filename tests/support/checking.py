"""`footfall verify`'s checker in a thread beside a test."""

import contextlib
import threading
from collections.abc import Iterator, Sequence

from footfall.loadtest.ledger import Ledger
from footfall.loadtest.measurement import Measurement, Plan, Report

from .servers import wait_until

NAMESPACE = "/checked/"


class Checking:
    """`paths` are those to count, whose counters stay; without them, some below NAMESPACE."""

    def __init__(self, url: str, plan: Plan, paths: Sequence[str] = ()) -> None:
        self._checker = Measurement(url, plan, NAMESPACE, paths)
        self._thread = threading.Thread(target=self._checker.run, daemon=True)
        self._thread.start()

    @property
    def ledger(self) -> Ledger:
        return self._checker.report.ledger

    @property
    def accepted(self) -> int:
        return sum(self.ledger.accepted.values())

    def wait_for_more(self, number: int = 100) -> None:
        """Wait until so many more increments have been accepted."""
        wanted = self.accepted + number
        wait_until(lambda: self.accepted >= wanted, f"{number} more increments to be accepted")

    def stop(self) -> Report:
        self._checker.stop()
        self._thread.join()
        return self._checker.report


@contextlib.contextmanager
def checking(url: str, plan: Plan, paths: Sequence[str] = ()) -> Iterator[Checking]:
    running = Checking(url, plan, paths)
    try:
        yield running
    finally:
        running.stop()

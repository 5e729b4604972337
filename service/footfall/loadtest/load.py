"""The load generator, and the verdict whether every count is exact.

The generator is one thread with a selector. An open loop sends at times that are fixed beforehand,
and measures from those times, so that a stall of the server counts for all requests that had to
wait; a closed loop sends when the last answer has come. The generator carries some tens of
thousands of requests a second. `Outcome.busy` is the share of a core that it used: near 1, the
generator was measured and not the server.
"""

import select
import selectors
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count, cycle

from ..model import OnShare
from .exchange import MARK, Address, Answer, Connection, numbered
from .histogram import Histogram

GRACE_SECONDS = 5.0
# How often loops check if they should stop.
TICK_SECONDS = 0.1
# Some servers close a connection after two idle seconds, which a request must not cross: it is
# opened anew after this time.
IDLE_SECONDS = 1.5
# Connections that are opened at the same time.
OPENERS = 32
# After so many failures in a row, or three for each connection, the run is given up.
MIN_FAILURES = 200
# Different messages that refusals are counted by.
MAX_REFUSALS = 10


@dataclass(frozen=True, slots=True)
class Verdict:
    """Is every acknowledged change counted, and nothing else?

    It is not known if requests without an answer were counted, so any count from `accepted` to
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


@dataclass
class Outcome:
    """The numbers of a run. Of changes, POST and PUT, `changed` were accepted and `unsure` may have
    been made.

    Requests that were `planned` and not `sent` found no free connection until the end.
    """

    planned: int = 0
    sent: int = 0
    accepted: int = 0
    refused: int = 0
    broken: int = 0
    changed: int = 0
    unsure: int = 0
    seconds: float = 0.0
    # Accepted within `seconds`, without the answers that came after the end.
    in_time: int = 0
    # The share of a core that the generator used.
    busy: float = 0.0
    gave_up: str = ""
    refusals: Counter[str] = field(default_factory=Counter)
    latency: Histogram = field(default_factory=Histogram)

    @property
    def in_flight(self) -> int:
        """Requests that were sent and not answered."""
        return self.sent - self.accepted - self.refused

    @property
    def failed(self) -> int:
        return self.planned - self.accepted

    @property
    def rate(self) -> float:
        return self.in_time / self.seconds if self.seconds else 0.0


class Generator:
    """Sends prepared requests to a server over `connections` connections.

    `templates` are used in turn; each MARK in one becomes a number, counted up from `first`. A
    generator runs once. Raises OSError if it cannot connect.
    """

    def __init__(
        self, url: str, templates: Sequence[bytes], *, connections: int, first: int = 0
    ) -> None:
        address = Address.parse(url)
        self._requests = _requests(templates, first)
        self._selector = selectors.DefaultSelector()
        self._connections = [Connection(address) for _ in range(connections)]
        self._free = deque(self._connections)
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._max_failures = max(MIN_FAILURES, 3 * connections)
        self._failures = 0
        self._is_over = False
        self._progress_at = 0.0
        self.outcome = Outcome()
        try:
            with ThreadPoolExecutor(OPENERS) as pool:
                list(pool.map(Connection.open, self._connections))
        except OSError:
            self._close()
            raise
        for each in self._connections:
            self._watch(each)

    def stop(self) -> None:
        """Send nothing more; answers to what was sent are still awaited."""
        self._is_over = True

    def closed(self, seconds: float, on_progress: OnShare | None = None) -> Outcome:
        """A closed loop: every connection sends its next request when its answer has come."""
        start, busy = self._start()
        now, end = start, start + seconds
        while not self._is_over and now < end:
            while self._free and not self._is_over:
                self._send(self._free.popleft(), time.perf_counter(), next(self._requests))
            self._take(min(end - now, TICK_SECONDS))
            now = time.perf_counter()
            self._report_progress(on_progress, (now - start) / seconds)
        self.outcome.planned = self.outcome.sent
        return self._finish(start, busy)

    def open(self, rate: float, seconds: float, on_progress: OnShare | None = None) -> Outcome:
        """An open loop: `rate` requests a second at fixed times, whatever the server does."""
        start, busy = self._start()
        now, end = start, start + seconds
        outcome = self.outcome
        while not self._is_over and now < end:
            while (due := start + outcome.planned / rate) <= now:
                self._waiting.append((due, next(self._requests)))
                outcome.planned += 1
            self._serve()
            self._take(min(min(due, end) - time.perf_counter(), TICK_SECONDS))
            now = time.perf_counter()
            self._report_progress(on_progress, (now - start) / seconds)
        return self._finish(start, busy)

    def _serve(self) -> None:
        while self._waiting and self._free and not self._is_over:
            self._send(self._free.popleft(), *self._waiting.popleft())

    def _send(self, connection: Connection, due: float, message: bytes) -> None:
        if connection.socket is None or due - connection.free_since > IDLE_SECONDS:
            self._reopen(connection)
            if self._is_over:
                return
        self.outcome.sent += 1
        connection.due = due
        try:
            connection.send(message)
        except OSError as error:
            self._lost(connection, error)

    def _take(self, wait: float) -> None:
        """Take the answers that come, after waiting for at most so many seconds."""
        # select() takes microseconds; epoll's own time-out is rounded up to a millisecond.
        if hasattr(select, "epoll"):
            select.select([self._selector.fileno()], [], [], max(wait, 0))
            wait = 0
        for key, _ in self._selector.select(wait):
            connection: Connection = key.data
            was_busy = connection.is_busy
            try:
                answer = connection.receive()
            except OSError as error:
                if was_busy:
                    self._lost(connection, error)
                else:
                    self._unwatch(connection)
                continue
            if answer is not None:
                self._judge(connection, answer)
                if answer.is_last:
                    self._unwatch(connection)
                self._free.append(connection)

    def _judge(self, connection: Connection, answer: Answer) -> None:
        outcome = self.outcome
        now = connection.free_since = time.perf_counter()
        outcome.latency.add(int((now - connection.due) * 1e6))
        if answer.is_accepted:
            outcome.accepted += 1
            outcome.changed += connection.is_change
            self._failures = 0
            return
        outcome.refused += 1
        # With a 4xx the server has changed nothing; with other errors it may have.
        if connection.is_change and not 400 <= answer.status < 500:
            outcome.unsure += 1
        words = answer.refusal
        if words in outcome.refusals or len(outcome.refusals) < MAX_REFUSALS:
            outcome.refusals[words] += 1
        self._note_failure(words)

    def _lost(self, connection: Connection, error: OSError) -> None:
        """Note that a request was sent and will get no answer."""
        self.outcome.broken += 1
        self.outcome.unsure += connection.is_change
        self._unwatch(connection)
        self._free.append(connection)
        self._note_failure(error.strerror or str(error))

    def _note_failure(self, words: str) -> None:
        self._failures += 1
        if self._failures >= self._max_failures:
            self._give_up(words)

    def _give_up(self, words: str) -> None:
        self.outcome.gave_up = self.outcome.gave_up or words
        self._is_over = True

    def _reopen(self, connection: Connection) -> None:
        self._unwatch(connection)
        try:
            connection.open()
        except OSError as error:
            self._give_up(error.strerror or str(error))
            return
        self._watch(connection)

    def _watch(self, connection: Connection) -> None:
        assert connection.socket is not None
        connection.free_since = time.perf_counter()
        self._selector.register(connection.socket, selectors.EVENT_READ, connection)

    def _unwatch(self, connection: Connection) -> None:
        if connection.socket is not None:
            self._selector.unregister(connection.socket)
        connection.close()

    def _report_progress(self, on_progress: OnShare | None, share: float) -> None:
        now = time.perf_counter()
        if on_progress is not None and now - self._progress_at > TICK_SECONDS:
            self._progress_at = now
            on_progress(min(share, 1.0))

    def _start(self) -> tuple[float, float]:
        return time.perf_counter(), time.thread_time()

    def _finish(self, start: float, busy: float) -> Outcome:
        """Wait for the answers that are missing, then stop."""
        end = time.perf_counter()
        outcome = self.outcome
        outcome.seconds = end - start
        outcome.in_time = outcome.accepted
        outcome.busy = (time.thread_time() - busy) / outcome.seconds
        self._wait_for_the_rest(end + GRACE_SECONDS)
        outcome.unsure += sum(each.is_busy and each.is_change for each in self._connections)
        if self._is_over and not outcome.gave_up:
            outcome.planned = outcome.sent
        self._close()
        return outcome

    def _wait_for_the_rest(self, deadline: float) -> None:
        while any(each.is_busy for each in self._connections):
            left = deadline - time.perf_counter()
            if left <= 0:
                return
            self._take(left)
            if not self._is_over:
                self._serve()

    def _close(self) -> None:
        for each in self._connections:
            each.close()
        self._selector.close()


def _requests(templates: Sequence[bytes], first: int) -> Iterator[bytes]:
    if not any(MARK in each for each in templates):
        return cycle(templates)
    return (
        numbered(template, number) if MARK in template else template
        for template, number in zip(cycle(templates), count(first), strict=False)
    )

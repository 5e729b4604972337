"""The load generator: clients in one thread, each over a connection of its own.

A closed loop sends after the last response. An open loop sends at fixed times, and a request that
had to wait for a connection counts from when it was due, so that a stall of the server counts for
all requests that it delayed. Clients continue through outages, with a pause after each failure, so
that few requests have an unknown outcome. `Row.busy` is the share of a core that the generator
used: near 1, the generator was measured and not the server.
"""

import asyncio
import math
import selectors
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import uvloop

from ..model import OnShare
from ..plurals import number_of
from .exchange import Address, Connection, Response, reason
from .ledger import Ledger
from .target import counts_in
from .workload import LoadRequest

# How often a loop checks if it should stop.
TICK_SECONDS = 0.1
# How long a client pauses after a failure.
PAUSE_SECONDS = 0.1
# For how long after the end requests are sent that were due before it.
GRACE_SECONDS = 5.0
# Connections that are opened at the same time.
OPENERS = 32
# Different messages that failures are counted by.
MAX_TROUBLES = 10
# Latencies have three significant digits: 1,234 us counts as 1,232 us.
SIGNIFICANT_BITS = 9


def rank(n: int, share: float) -> int:
    """The index, in n sorted values, of the smallest that at least this share does not exceed."""
    # Rounded, because 0.99 * 100 is a little more than 99.
    return max(math.ceil(round(share * n, 9)) - 1, 0)


class Histogram:
    """Latencies in whole microseconds, in a few kilobytes. HdrHistogram for Python has no wheel for
    Linux on ARM."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.n = 0
        self.greatest = 0

    def add(self, us: int) -> None:
        shift = max(us.bit_length() - SIGNIFICANT_BITS, 0)
        self._counts[us >> shift << shift] += 1
        self.n += 1
        self.greatest = max(self.greatest, us)

    def at(self, share: float) -> int:
        """The latency in us that this share of the requests did not exceed; 0 without requests."""
        left = rank(self.n, share)
        for us in sorted(self._counts):
            left -= self._counts[us]
            if left < 0:
                return us
        return 0


class Outages:
    """For how long requests waited and none was answered well, by the caller's clock in seconds."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._waiting = 0
        self._quiet_since = math.inf

    def started(self, now: float) -> None:
        self._waiting += 1
        self._quiet_since = min(self._quiet_since, now)

    def ended(self, now: float, *, is_good: bool) -> None:
        self._waiting -= 1
        if is_good:
            self.longest = max(self.longest, self.quiet(now))
            self._quiet_since = now if self._waiting else math.inf

    def quiet(self, now: float) -> float:
        """The duration of the current outage; 0 if there is none."""
        return max(now - self._quiet_since, 0.0)


@dataclass
class Row:
    """The figures of a run. `rate` is in requests per second; without it the loop is closed.

    Requests are `accepted`, `refused` by a response, `broken` (their connection was) or `hung`
    (without a response in time). Those `planned` and not `sent` found no connection in time.
    """

    name: str
    rate: float | None = None
    planned: int = 0
    sent: int = 0
    accepted: int = 0
    refused: int = 0
    broken: int = 0
    hung: int = 0
    seconds: float = 0.0
    # Accepted within `seconds`, without the responses that came after the end.
    in_time: int = 0
    # The share of a core that the generator used.
    busy: float = 0.0
    gave_up: str = ""
    troubles: Counter[str] = field(default_factory=Counter)
    latency: Histogram = field(default_factory=Histogram)
    longest_outage: float = 0.0

    @property
    def failed(self) -> int:
        return self.planned - self.accepted

    @property
    def reached(self) -> float:
        """Requests per second."""
        return self.in_time / self.seconds if self.seconds else 0.0

    def trouble(self, text: str) -> None:
        if text in self.troubles or len(self.troubles) < MAX_TROUBLES:
            self.troubles[text] += 1


class Load:
    """Runs once. `row` and `ledger` may be read meanwhile, from any thread.

    If no request succeeds for `retry_for` seconds, the run ends.
    """

    def __init__(
        self,
        row: Row,
        requests: Iterator[LoadRequest],
        address: Address,
        ledger: Ledger,
        *,
        connections: int,
        retry_for: float,
    ) -> None:
        self.row = row
        self._requests = requests
        self._ledger = ledger
        self._retry_for = retry_for
        self._connections = [Connection(address) for _ in range(connections)]
        self._turns = count()
        self._is_stopped = False
        self._outages = Outages()

    def stop(self) -> None:
        """Send nothing more; responses to sent requests are still awaited."""
        self._is_stopped = True

    def run(self, seconds: float, on_progress: OnShare = lambda share: None) -> Row:
        # uvloop rounds times to milliseconds, and so sends in bursts; select() does not.
        precise = selectors.SelectSelector
        factory = (lambda: asyncio.SelectorEventLoop(precise())) if self.row.rate else None
        with asyncio.Runner(loop_factory=factory or uvloop.new_event_loop) as runner:
            runner.run(self._run(seconds, on_progress))
        return self.row

    async def _run(self, seconds: float, on_progress: OnShare) -> None:
        self._opening = asyncio.Semaphore(OPENERS)
        await asyncio.gather(*map(self._is_open, self._connections))
        self._start = time.perf_counter()
        self._end = self._start + seconds
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch(on_progress))
            for connection in self._connections:
                group.create_task(self._client(connection))
        row, outages = self.row, self._outages
        row.longest_outage = max(outages.longest, outages.quiet(time.perf_counter()))
        if row.rate and not self._is_stopped:
            row.planned = max(row.planned, math.ceil(row.rate * seconds))

    async def _watch(self, on_progress: OnShare) -> None:
        row, seconds, used = self.row, self._end - self._start, time.thread_time()
        now = self._start
        while now < self._end and not self._is_stopped:
            await asyncio.sleep(min(TICK_SECONDS, self._end - now))
            now = time.perf_counter()
            on_progress(min((now - self._start) / seconds, 1.0))
            if self._outages.quiet(now) > self._retry_for:
                who = f"no request was answered for {number_of(self._retry_for, 'second')}"
                row.gave_up = f"Stopped: {who}"
                self.stop()
        row.seconds, row.in_time = now - self._start, row.accepted
        row.busy = (time.thread_time() - used) / row.seconds if row.seconds else 0.0

    async def _client(self, connection: Connection) -> None:
        while due := await self._turn():
            self.row.planned += 1
            if not await self._ask(connection, next(self._requests), due):
                connection.close()
                await asyncio.sleep(PAUSE_SECONDS)
        connection.close()

    async def _turn(self) -> float:
        """Wait for this client's next turn: when its request is due, 0 at the end."""
        now = due = time.perf_counter()
        end = self._end
        if self.row.rate:
            due = self._start + next(self._turns) / self.row.rate
            end += GRACE_SECONDS
        if due >= self._end:
            return 0.0
        while (left := due - now) > 0 and not self._is_stopped:
            await asyncio.sleep(min(left, TICK_SECONDS))
            now = time.perf_counter()
            if now >= due:
                # The connection was free in time, so this process is late.
                return now
        return 0.0 if self._is_stopped or now >= end else due

    async def _ask(self, connection: Connection, request: LoadRequest, due: float) -> bool:
        """Send one request, and note its outcome; True on success."""
        self._outages.started(time.perf_counter())
        is_good = False
        if await self._is_open(connection):
            path, floor = request.path, 0
            if path:
                floor = self._ledger.sends(path, is_increment=request.is_increment)
            response = await self._response(connection, request.message, due)
            is_good = self._enter(request, response, floor)
        else:
            self._ledger.refused += request.is_increment
        self._outages.ended(time.perf_counter(), is_good=is_good)
        return is_good

    async def _is_open(self, connection: Connection) -> bool:
        if connection.is_open:
            return True
        try:
            async with self._opening:
                await connection.open()
        except OSError as error:
            self.row.trouble(f"cannot connect: {reason(error)}")
            return False
        return True

    async def _response(
        self, connection: Connection, message: bytes, due: float
    ) -> Response | None:
        row = self.row
        row.sent += 1
        try:
            response = await connection.ask(message)
        except TimeoutError:
            row.hung += 1
        except OSError as error:
            row.broken += 1
            row.trouble(reason(error))
        else:
            row.latency.add(int((time.perf_counter() - due) * 1e6))
            return response
        return None

    def _enter(self, request: LoadRequest, response: Response | None, floor: int) -> bool:
        row, ledger, path = self.row, self._ledger, request.path
        is_accepted = bool(response and response.is_accepted)
        if response and is_accepted and path:
            counts = counts_in(response)
            if counts and len(counts) == 1:
                (ledger.raised if request.is_increment else ledger.read)(path, counts[0], floor)
            else:
                is_accepted = False
        row.accepted += is_accepted
        if response and not is_accepted:
            row.refused += 1
            row.trouble(response.refusal)
        if request.is_increment and not is_accepted:
            # With a 4xx the server has not counted; with other errors it may have.
            if response and 400 <= response.status < 500:
                ledger.refused += 1
            else:
                ledger.unknown[path] += 1
        return is_accepted

"""Batches: the reads and script calls of all requests of one turn of the event loop.

A command of its own for each request would cost Redis and this process far more than the work
itself. So requests join the batch that is forming; it is sent at the end of the turn, and the next
one forms meanwhile. Without load a batch has one request, and is sent at once. Equal reads are sent
once.

Every request gets its own answer, or StoreUnavailable with all others of its batch. A batch is
never sent twice, and when too many requests wait, further ones fail immediately.

A Cluster has a batch for each node (node_batches.py), so that a slow node delays only its own.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from ..errors import StoreUnavailable
from .client import RedisClient
from .cluster import slot_of_key
from .commands import Command
from .connection import Done
from .reads import PackedRead
from .replies import REJECTED, UNDELIVERED, deliver, failure, is_unknown_script, unavailable
from .script_calls import CountsCallback, Rate, ScriptCall, Taking, TokenCall
from .scripts import Scripts
from .server_state import SINGLE

log = logging.getLogger(__name__)

# While this many batches are in flight, the next one grows: a slow Redis gets larger ones.
MAX_BATCHES_IN_FLIGHT = 4
# The same for a node of a Cluster, which gets few requests from each worker at a time: larger
# batches cost it less for each request.
MAX_NODE_BATCHES_IN_FLIGHT = 1
# Requests that may wait for the next batch; more get 503 immediately.
MAX_WAITING_REQUESTS = 20_000

# CommandSender.ask, or the same for one node of a Cluster.
Ask = Callable[[Sequence[Command], Done, float], None]
# The request, and its callback.
Reads = dict[PackedRead, list[CountsCallback]]


class Batcher(Protocol):
    """Joins requests to batches; calls `done` once, with the numbers in order or an exception."""

    @property
    def waiting(self) -> int:
        """The number of requests waiting for the next batch."""
        ...

    @property
    def is_idle(self) -> bool:
        """True if nothing waits, and nothing is in flight."""
        ...

    def read(self, read: PackedRead, done: CountsCallback) -> None:
        """`done` gets the numbers, 0 for a missing one."""
        ...

    def take_tokens(self, bucket: str, tokens: int, rate: Rate, done: CountsCallback) -> None:
        """Take tokens from the bucket with this key; `done` gets [0], or [ms to wait for them]."""
        ...


class Batch:
    """A Batcher for one server, or for one node of a Cluster, with a script call for each slot."""

    def __init__(
        self,
        redis: RedisClient,
        scripts: Scripts,
        ask: Ask,
        most_in_flight: int = MAX_BATCHES_IN_FLIGHT,
        more: Callable[[], list[ScriptCall]] = list,
    ) -> None:
        """`more` returns the calls of what else has joined since the last batch."""
        self._redis = redis
        self.is_cluster = redis.is_cluster
        # Of the server; None for a node of a Cluster.
        self.state = None if redis.is_cluster else redis.stats.server(SINGLE)
        self._take_tokens = scripts["rate_limit/take_tokens"]
        self.ask = ask
        self._more = more
        self._most_in_flight = most_in_flight
        self._in_flight = 0
        # Reads since the last batch was sent.
        self._reads: Reads = {}
        self._takings: list[Taking] = []
        self.waiting = 0
        self.is_leaving = False
        # The size of the last batch, 0 if it failed. If it was one request, and none is in flight,
        # the next one is sent at once: few come at a time, and each would wait for the turn's end.
        self.last = 0
        self.leaves_at_once = False
        # Looked up once: in Python 3.11 that asks the kernel for the process each time.
        self._loop: asyncio.AbstractEventLoop | None = None
        # By the event loop's clock, the deadline of the first request; it counts for all.
        self._deadline = 0.0

    @property
    def is_idle(self) -> bool:
        return not self.waiting and not self._in_flight

    def read(self, read: PackedRead, done: CountsCallback) -> None:
        if self.is_leaving or self.may_join(done):
            self._reads.setdefault(read, []).append(done)
            self.waiting += 1
            if self.leaves_at_once:
                self.leave()

    def take_tokens(self, bucket: str, tokens: int, rate: Rate, done: CountsCallback) -> None:
        if self.is_leaving or self.may_join(done):
            self._takings.append((bucket, tokens, rate, done))
            self.waiting += 1
            if self.leaves_at_once:
                self.leave()

    # Who joins asks `may_join`, unless the batch `is_leaving`, adds to `waiting`, and calls `leave`
    # if it `leaves_at_once`.

    def may_join(self, done: CountsCallback) -> bool:
        """May a request join a batch that cannot leave yet? If not, it is rejected."""
        if self.waiting >= MAX_WAITING_REQUESTS:
            deliver(done, StoreUnavailable())
            return False
        loop = self._loop = self._loop or asyncio.get_running_loop()
        if not self.waiting:
            self._deadline = loop.time() + self._redis.timeout
        if self.last == 1 and self.is_idle:
            self.leaves_at_once = True
        elif self._in_flight < self._most_in_flight:
            self.is_leaving = True
            loop.call_soon(self.leave)
        return True

    def leave_alone(self, command: Command, arrived: Done) -> None:
        """Send a command of one request, which is answered by `arrived`; that calls `landed`."""
        loop = self._loop = self._loop or asyncio.get_running_loop()
        self._redis.stats.batched(1)
        self.last, self._in_flight = 0, 1
        try:
            self._redis.data_set_ids.check()
            self.ask([command], arrived, loop.time() + self._redis.timeout)
        except Exception as error:
            arrived(error if isinstance(error, StoreUnavailable) else [error])

    def leave(self) -> None:
        self.is_leaving = self.leaves_at_once = False
        if not self.waiting:
            return
        self._redis.stats.batched(self.waiting)
        size, self.waiting, self.last = self.waiting, 0, 0
        self._in_flight += 1
        calls = self._calls()
        if calls and (state := self.state) and state.rejects_changes and state.keeps_back():
            for call in calls:
                call.fail(unavailable(REJECTED))
            calls, size = [], 0
        sent = _Sent(self, size, calls, self._reads, self._deadline)
        self._reads = {}
        try:
            self._redis.data_set_ids.check()
            sent.send()
        except Exception as error:
            # Not raised: that would end the loop that hands out the replies of other batches.
            self._in_flight -= 1
            sent.fail(error)

    def _calls(self) -> list[ScriptCall]:
        """Script calls since the last batch. They go before reads, so that a read sees the changes
        of its own batch."""
        calls = self._more()
        if self._takings:
            takings, self._takings = self._takings, []
            parts = _by_slot(takings) if self.is_cluster else (takings,)
            calls += [TokenCall(self._take_tokens, part) for part in parts]
        return calls

    def landed(self, size: int) -> None:
        """A batch of so many requests has its replies, 0 if it failed. The next one is sent before
        those are answered, so that Redis and this process work concurrently."""
        self._in_flight -= 1
        self.last = size
        if self.waiting and not self.is_leaving:
            self.leave()


class _Sent:
    """A batch in flight."""

    __slots__ = ("_batch", "_calls", "_deadline", "_reads", "_size")

    def __init__(
        self, batch: Batch, size: int, calls: list[ScriptCall], reads: Reads, deadline: float
    ) -> None:
        self._batch = batch
        self._size = size
        self._calls = calls
        self._reads = reads
        self._deadline = deadline

    def send(self) -> None:
        commands = [call.command() for call in self._calls]
        for read in self._reads:
            commands += read.commands
        if not commands:
            self._arrived([])
            return
        self._batch.ask(commands, self._arrived, self._deadline)

    def fail(self, error: Exception) -> None:
        for waiting in self._reads.values():
            for done in waiting:
                deliver(done, error)
        for call in self._calls:
            call.fail(error)

    def _arrived(self, replies: list[Any] | StoreUnavailable) -> None:
        if isinstance(replies, StoreUnavailable):
            self._batch.landed(0)
            self.fail(replies)
            return
        self._batch.landed(self._size)
        place = len(self._calls)
        for read, waiting in self._reads.items():
            behind = place + read.size
            try:
                # As nearly every read is.
                numbers = (
                    [int(replies[place])] if read.size == 1 else _numbers(replies[place:behind])
                )
            except (TypeError, ValueError):
                numbers = _numbers(replies[place:behind])
            place = behind
            for done in waiting:
                try:
                    done(numbers)
                except Exception:
                    log.exception(UNDELIVERED)
        if self._calls:
            self._take(self._calls, replies)

    def _take(self, calls: list[ScriptCall], replies: list[Any]) -> None:
        """Answer what scripts did. Calls that Redis did not run, as it has not the script (any
        more), are sent once more in full: nothing is done twice by that."""
        again = []
        for call, reply in zip(calls, replies, strict=False):
            if isinstance(reply, list) and len(reply) == call.size:
                if rest := call.answer(reply):
                    again.append(rest)
            elif is_unknown_script(reply):
                again.append(call)
            else:
                call.fail(failure(reply) if isinstance(reply, Exception) else TypeError(reply))
        if again:
            self._ask_again(again)

    def _ask_again(self, calls: list[ScriptCall]) -> None:
        def arrived(replies: list[Any] | StoreUnavailable) -> None:
            if isinstance(replies, StoreUnavailable):
                replies = [replies] * len(calls)
            self._take(calls, replies)

        try:
            commands = [call.command(in_full=True) for call in calls]
            self._batch.ask(commands, arrived, self._deadline)
        except Exception as error:
            for call in calls:
                call.fail(error)


def _numbers(replies: list[Any]) -> list[int] | Exception:
    """0 for missing values."""
    try:
        # Most requested counters exist.
        return list(map(int, replies))
    except (TypeError, ValueError):
        pass
    try:
        return [0 if reply is None else int(reply) for reply in replies]
    except (TypeError, ValueError) as error:
        return next((failure(reply) for reply in replies if isinstance(reply, Exception)), error)


def _by_slot(takings: list[Taking]) -> Iterable[list[Taking]]:
    slots: defaultdict[int, list[Taking]] = defaultdict(list)
    for taking in takings:
        slots[slot_of_key(taking[0].encode())].append(taking)
    return slots.values()

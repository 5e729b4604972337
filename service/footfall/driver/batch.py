"""Batches: all counter reads, counter changes and page versions of one turn of the event loop.

To send a command of its own for each request would cost Redis and this process far more than the
work itself. So requests join the batch that is forming; it is sent at the end of the turn, and the
next one forms meanwhile. Without load a batch has one request, and is sent at once.

Every request gets its own answer, or StoreUnavailable with all others of its batch. A batch is
never sent twice, and when too many requests wait, further ones fail at once.

A Cluster has a batch for each node (node_batches.py), so that a slow node delays only its own.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from ..errors import StoreUnavailable
from .batch_kinds import Call, CountsCallback, IncrBatch, PackedNames, Rate, ReadBatch, TokenBatch
from .client import RedisClient
from .connection import Command, Done
from .replies import deliver
from .scripts import Scripts

# While so many batches are in flight, the next one goes on growing: a slow Redis gets larger ones.
MAX_BATCHES_IN_FLIGHT = 4
# The same for a node of a Cluster, which gets few requests from each worker at a time: larger
# batches cost it less for each request.
MAX_NODE_BATCHES_IN_FLIGHT = 1
# Requests that may wait for the next batch; more are answered 503 at once.
MAX_WAITING_REQUESTS = 20_000
# Counters in one script call, at which a batch is sent however many are in flight: the call blocks
# Redis for about a millisecond.
MAX_BATCH_COUNTERS = 1_000


# CommandSender.ask, or the same for one node of a Cluster.
Ask = Callable[[Sequence[Command], Done, float], None]


class Batcher(Protocol):
    """Joins requests to batches; calls `done` once, with the numbers in order or an exception.

    `new_weight` is the weight of all counters that its changes have begun.
    """

    @property
    def new_weight(self) -> int: ...

    @property
    def waiting(self) -> int:
        """How many requests wait for the next batch."""
        ...

    def read(self, names: Sequence[str], done: CountsCallback) -> None:
        """`done` gets the counts of these counters; a batch reads each counter once."""
        ...

    def add(self, changes: Sequence[tuple[str, int]], done: CountsCallback) -> None:
        """Apply (name, delta) changes; `done` gets the new counts."""
        ...

    def take_tokens(self, bucket: str, tokens: int, rate: Rate, done: CountsCallback) -> None:
        """Take tokens from the bucket with this key; `done` gets [0], or [ms to wait for them]."""
        ...

    def version(self, path: str, done: CountsCallback) -> None:
        """`done` gets the version of an article's comments."""
        ...


class Batch:
    """A Batcher for one server, or for one node of a Cluster, with a script call for each slot."""

    def __init__(
        self,
        redis: RedisClient,
        scripts: Scripts,
        packed: PackedNames,
        ask: Ask,
        most_in_flight: int = MAX_BATCHES_IN_FLIGHT,
    ) -> None:
        self._redis = redis
        self._scripts = scripts
        self._packed = packed
        self._ask = ask
        self._forming = _Forming(self._scripts)
        self._is_leaving = False
        self._in_flight = 0
        self._most_in_flight = most_in_flight
        self.new_weight = 0

    @property
    def waiting(self) -> int:
        return self._forming.size

    @property
    def is_idle(self) -> bool:
        return not self._forming.size and not self._in_flight

    def read(self, names: Sequence[str], done: CountsCallback) -> None:
        forming = self._forming
        if forming.size >= MAX_WAITING_REQUESTS:
            return _refuse(done)
        forming.reads.want(names, done)
        self._joined(len(forming.reads.places))

    def add(self, changes: Sequence[tuple[str, int]], done: CountsCallback) -> None:
        forming = self._forming
        if forming.size >= MAX_WAITING_REQUESTS:
            return _refuse(done)
        wanted = forming.increments.wanted
        first = len(wanted)
        wanted += changes
        forming.increments.waiting.append((slice(first, len(wanted)), done))
        self._joined(len(wanted))

    def take_tokens(self, bucket: str, tokens: int, rate: Rate, done: CountsCallback) -> None:
        forming = self._forming
        if forming.size >= MAX_WAITING_REQUESTS:
            return _refuse(done)
        wanted = forming.takings.wanted
        forming.takings.waiting.append((slice(len(wanted), len(wanted) + 1), done))
        wanted.append((bucket, tokens, rate))
        self._joined(len(wanted))

    def version(self, path: str, done: CountsCallback) -> None:
        self.numbers((self._packed.versions[path],), done)

    def numbers(self, keys: Sequence[bytes], done: CountsCallback) -> None:
        """`done` gets the numbers under these packed keys, 0 for a key that does not exist."""
        forming = self._forming
        if forming.size >= MAX_WAITING_REQUESTS:
            return _refuse(done)
        forming.numbers.want(keys, done)
        self._joined()

    def _joined(self, counters: int = 0) -> None:
        """Note that a request has joined the batch, which wants so many counters now."""
        forming = self._forming
        if not forming.size:
            forming.deadline = self._redis.deadline()
        forming.size += 1
        if counters >= MAX_BATCH_COUNTERS:
            self._leave()
        elif not self._is_leaving and self._in_flight < self._most_in_flight:
            self._is_leaving = True
            asyncio.get_running_loop().call_soon(self._leave)

    def _leave(self) -> None:
        self._is_leaving = False
        batch = self._forming
        if not batch.size:
            return
        self._forming = _Forming(self._scripts)
        self._in_flight += 1
        self._redis.stats.batched(batch.size)
        try:
            self._send(batch)
        except Exception as error:
            # Not raised: that would end the loop that hands out the replies of other batches.
            self._in_flight -= 1
            batch.fail(error)

    def _send(self, batch: "_Forming") -> None:
        self._redis.data_set_ids.check()
        is_cluster = self._redis.is_cluster
        # Changes go before reads, so that a read sees the changes of its own batch.
        calls = batch.increments.calls(self._packed, is_cluster)
        calls += batch.takings.calls(self._packed, is_cluster)
        commands = [call.command() for call in calls]
        commands += map(self._packed.reads.__getitem__, batch.reads.places)
        commands += batch.number_commands(is_cluster)
        if not commands:
            self._arrived(batch, calls, [])
            return
        self._ask(commands, partial(self._arrived, batch, calls), batch.deadline)

    def _arrived(
        self, batch: "_Forming", calls: list[Call], replies: list[Any] | StoreUnavailable
    ) -> None:
        self._in_flight -= 1
        if self._forming.size and not self._is_leaving:
            # Sent before the answers of this one, so that Redis and this process work at once.
            self._leave()
        if isinstance(replies, StoreUnavailable):
            batch.fail(replies)
            return
        with _failing_on_error(batch):
            first, behind = len(calls), len(calls) + len(batch.reads.places)
            batch.reads.take(replies[first:behind])
            batch.numbers.take(replies[behind:])
            self._take(batch, calls, replies)

    def _take(self, batch: "_Forming", calls: list[Call], replies: list[Any]) -> None:
        """Answer what scripts did. Calls that Redis did not run, as it has not the script (any
        more), are sent once more in full: nothing is done twice by that."""
        unknown = [call for call, reply in zip(calls, replies, strict=False) if call.take(reply)]
        if unknown:
            self._ask_again(batch, unknown)
            return
        self.new_weight += batch.increments.new_weight()
        batch.increments.answer()
        batch.takings.answer()

    def _ask_again(self, batch: "_Forming", calls: list[Call]) -> None:
        def arrived(replies: list[Any] | StoreUnavailable) -> None:
            with _failing_on_error(batch):
                if isinstance(replies, StoreUnavailable):
                    replies = [replies] * len(calls)
                self._take(batch, calls, replies)

        commands = [call.command(in_full=True) for call in calls]
        self._ask(commands, arrived, batch.deadline)


class _Forming:
    """The requests that have joined since the last batch was sent."""

    def __init__(self, scripts: Scripts) -> None:
        self.size = 0
        # The deadline of the first request, by the clock of the event loop; it counts for all.
        self.deadline = 0.0
        self.increments = IncrBatch(scripts["counters/add"])
        self.takings = TokenBatch(scripts["rate_limit/take_tokens"])
        # Annotated, since a call of ReadBatch[str] would take twice as long.
        self.reads: ReadBatch[str] = ReadBatch()
        self.numbers: ReadBatch[bytes] = ReadBatch()

    def number_commands(self, is_cluster: bool) -> list[Command]:
        keys = self.numbers.places
        if is_cluster or len(keys) < 2:
            return [b"*2\r\n$3\r\nGET\r\n" + key for key in keys]
        return [b"*%d\r\n$4\r\nMGET\r\n%b" % (1 + len(keys), b"".join(keys))]

    def fail(self, error: Exception) -> None:
        for kind in (self.increments, self.takings, self.reads, self.numbers):
            for _, done in kind.waiting:
                deliver(done, error)


def _refuse(done: CountsCallback) -> None:
    deliver(done, StoreUnavailable())


@contextmanager
def _failing_on_error(batch: _Forming) -> Iterator[None]:
    """If one reply cannot be understood, no other request of the batch waits for ever."""
    try:
        yield
    except Exception as error:
        batch.fail(error)
        raise

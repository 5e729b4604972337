"""All counter reads, counter changes and page versions of one turn of the event loop, in one go.

A command costs Redis and this process far more than what it does, so a busy service does not send
one for each request: requests join the batch that is forming, it leaves at the end of the turn, and
the next one forms while it is under way. Under no load a batch holds one request, and leaves at
once.

Every request gets its own answer, or StoreUnavailable with all others of its batch. A batch is
never sent again, and when too many wait, further requests are turned away at once.

A Cluster has a batch for each node (node_batches.py), so that a slow one keeps nobody else waiting.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from ..errors import StoreUnavailable
from .batch_kinds import Call, CountsCallback, IncrBatch, Rate, ReadBatch, TokenBatch, Words
from .client import Connected
from .connection import Command, Done, deliver
from .scripts import Scripts

# While so many batches are under way, the next one goes on forming: bigger batches when Redis is
# the one who is slow.
MAX_BATCHES_IN_FLIGHT = 4
# To a node of a Cluster, of which each worker wants little at a time: bigger batches leave it less
# to do for each request.
NODE_IN_FLIGHT = 1
# Requests that may wait for the next batch; more are answered 503 at once.
MAX_WAITING_REQUESTS = 20_000
# Counters in one script call, after which a batch leaves whatever is under way: Redis does nothing
# else meanwhile, for about a millisecond.
MAX_BATCH_COUNTERS = 1_000


Ask = Callable[[Sequence[Command], Done, float], None]


class Batcher(Protocol):
    """What requests join; `done` is called once, with a number for each thing that was asked for.

    `begun` is what the counters weigh that have come to 1 by these changes: most are new.
    """

    @property
    def begun(self) -> int: ...

    @property
    def waiting(self) -> int:
        """Requests that the next batch will take along."""
        ...

    def read(self, names: Sequence[str], done: CountsCallback) -> None:
        """The counts of counters; however many want the same one, it is read once."""
        ...

    def add(self, changes: Sequence[tuple[str, int]], done: CountsCallback) -> None:
        """Apply (name, delta) changes; `done` hears the new counts."""
        ...

    def take_tokens(self, bucket: str, tokens: int, rate: Rate, done: CountsCallback) -> None:
        """Take tokens from the bucket with this key: hears 0, or how many ms to wait for them."""
        ...

    def version(self, path: str, done: CountsCallback) -> None:
        """The version of an article's comments, and the version of the accounts."""
        ...


class Batch:
    """For one server, or for one node of a Cluster, which is asked for each slot by itself."""

    def __init__(
        self,
        redis: Connected,
        scripts: Scripts,
        words: Words,
        ask: Ask,
        most_in_flight: int = MAX_BATCHES_IN_FLIGHT,
    ) -> None:
        self._redis = redis
        self._scripts = scripts
        self._words = words
        self._ask = ask
        self._forming = _Forming(self._scripts)
        self._is_leaving = False
        self._in_flight = 0
        self._most_in_flight = most_in_flight
        self.begun = 0

    @property
    def waiting(self) -> int:
        return self._forming.size

    @property
    def is_idle(self) -> bool:
        return not self._forming.size and not self._in_flight

    def read(self, names: Sequence[str], done: CountsCallback) -> None:
        if self._is_full(done):
            return
        reads = self._forming.reads
        reads.want(names, done)
        self._joined(len(reads.places))

    def add(self, changes: Sequence[tuple[str, int]], done: CountsCallback) -> None:
        if self._is_full(done):
            return
        increments = self._forming.increments
        first = len(increments.changes)
        increments.changes += changes
        increments.waiting.append((range(first, len(increments.changes)), done))
        self._joined(len(increments.changes))

    def take_tokens(self, bucket: str, tokens: int, rate: Rate, done: CountsCallback) -> None:
        if self._is_full(done):
            return
        takings = self._forming.takings
        takings.waiting.append((range(len(takings.takings), len(takings.takings) + 1), done))
        takings.takings.append((bucket, tokens, rate))
        self._joined(len(takings.takings))

    def version(self, path: str, done: CountsCallback) -> None:
        self.numbers((self._words.versions[path], self._words.accounts_version), done)

    def numbers(self, keys: Sequence[bytes], done: CountsCallback) -> None:
        """The numbers that lie under these keys, as they go over the wire."""
        if self._is_full(done):
            return
        self._forming.numbers.want(keys, done)
        self._joined()

    def _is_full(self, done: CountsCallback) -> bool:
        if self._forming.size < MAX_WAITING_REQUESTS:
            return False
        deliver(done, StoreUnavailable())
        return True

    def _joined(self, counters: int = 0) -> None:
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
            # Not raised: those whose answers have just come would wait for ever.
            self._in_flight -= 1
            batch.fail(error)

    def _send(self, batch: "_Forming") -> None:
        self._redis.mark.check()
        is_cluster = self._redis.is_cluster
        # Changes first: a read that joined the same batch sees them.
        calls = batch.increments.calls(self._words, is_cluster)
        calls += batch.takings.calls(self._words, is_cluster)
        commands = [call.command() for call in calls]
        commands += map(self._words.reads.__getitem__, batch.reads.places)
        commands += batch.number_questions(is_cluster)
        if not commands:
            self._arrived(batch, calls, [])
            return
        self._ask(commands, partial(self._arrived, batch, calls), batch.deadline)

    def _arrived(
        self, batch: "_Forming", calls: list[Call], replies: list[Any] | StoreUnavailable
    ) -> None:
        self._in_flight -= 1
        if self._forming.size and not self._is_leaving:
            # Before the answers go out, so that Redis works while we do.
            self._leave()
        if isinstance(replies, StoreUnavailable):
            batch.fail(replies)
            return
        with _nobody_waits_for_ever(batch):
            first, behind = len(calls), len(calls) + len(batch.reads.places)
            batch.reads.hear(replies[first:behind])
            batch.numbers.hear(replies[behind:])
            self._hear(batch, calls, replies)

    def _hear(self, batch: "_Forming", calls: list[Call], replies: list[Any]) -> None:
        """Answer, or ask again for what has not been done, so that this is no second time."""
        unknown = [call for call, reply in zip(calls, replies, strict=False) if call.heard(reply)]
        if unknown:
            # Redis has forgotten these scripts.
            self._ask_again(batch, unknown)
            return
        self.begun += batch.increments.begun()
        batch.increments.answer()
        batch.takings.answer()

    def _ask_again(self, batch: "_Forming", calls: list[Call]) -> None:
        def arrived(replies: list[Any] | StoreUnavailable) -> None:
            with _nobody_waits_for_ever(batch):
                if isinstance(replies, StoreUnavailable):
                    replies = [replies] * len(calls)
                self._hear(batch, calls, replies)

        commands = [call.command(in_full=True) for call in calls]
        self._ask(commands, arrived, batch.deadline)


class _Forming:
    """What has been asked for since the last batch left."""

    def __init__(self, scripts: Scripts) -> None:
        self.size = 0
        # By the clock of the event loop: nobody waits longer than since the first one joined.
        self.deadline = 0.0
        self.increments = IncrBatch(scripts["counters/add"])
        self.takings = TokenBatch(scripts["rate_limit/take_tokens"])
        self.reads = ReadBatch[str]()
        self.numbers = ReadBatch[bytes]()

    def number_questions(self, is_cluster: bool) -> list[Command]:
        keys = self.numbers.places
        if is_cluster or not keys:
            return [b"*2\r\n$3\r\nGET\r\n" + key for key in keys]
        return [b"*%d\r\n$4\r\nMGET\r\n%b" % (1 + len(keys), b"".join(keys))]

    def fail(self, error: Exception) -> None:
        for lot in (self.increments, self.takings, self.reads, self.numbers):
            for _, done in lot.waiting:
                deliver(done, error)


@contextmanager
def _nobody_waits_for_ever(batch: _Forming) -> Iterator[None]:
    """Not even when somebody else's reply cannot be understood."""
    try:
        yield
    except Exception as error:
        batch.fail(error)
        raise

"""Batches in which counters change: changes of one turn of the event loop are one script call, and
equal ones one change."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, Protocol

from ..driver.batch import MAX_BATCHES_IN_FLIGHT, MAX_NODE_BATCHES_IN_FLIGHT, Ask, Batch, Batcher
from ..driver.client import RedisClient
from ..driver.cluster import Cluster
from ..driver.commands import pack_word
from ..driver.connection import CommandSender
from ..driver.node_batches import Joint, NodeBatches
from ..driver.replies import deliver, failure, is_unknown_script
from ..driver.script_calls import CountsCallback, ScriptCall
from ..driver.scripts import Scripts
from ..errors import StoreUnavailable
from ..statistics.moment import Moment
from ..statistics.visits import PLACES, Visits
from .calls import ChangeCall, DatedCall, Started
from .clients import NO_CLIENT, CountingClient, Person
from .packed import NO_PACKED_ORIGIN, PackedChange

_ONE = pack_word(1)

# Changes at which a batch is sent, however many are in flight: a script call with this many blocks
# Redis for about a millisecond.
MAX_BATCH_CHANGES = 1_000

# Says when views are counted.
Clock = Callable[[], Moment]
# The request, and its callback.
Changes = dict[PackedChange, list[tuple[CountsCallback, CountingClient]]]


class Dating(NamedTuple):
    """Supplies the time of views, and notes the site's visitors."""

    moment: Clock
    visits: Visits


class CounterBatcher(Batcher, Protocol):
    def add(
        self, change: PackedChange, done: CountsCallback, client: CountingClient = NO_CLIENT
    ) -> None:
        """Change counters, as this client wants; `done` gets the new counts."""
        ...


class CounterBatch(Batch):
    """A CounterBatcher for one server, or for one node of a Cluster."""

    def __init__(
        self,
        redis: RedisClient,
        scripts: Scripts,
        started: Started,
        dating: Dating | None,
        ask: Ask,
        most_in_flight: int = MAX_BATCHES_IN_FLIGHT,
    ) -> None:
        super().__init__(redis, scripts, ask, most_in_flight, self._changed)
        self._script = scripts["counters/count" if dating else "counters/add"]
        self._started = started
        self._dating = dating
        # Requests since the last batch was sent, and the number of their changes.
        self._changes: Changes = {}
        self._number = 0

    def add(
        self, change: PackedChange, done: CountsCallback, client: CountingClient = NO_CLIENT
    ) -> None:
        dating, state = self._dating, self.state
        if (
            dating
            and self.last == 1
            and not (state and state.rejects_changes)
            and self._leaves_alone(change, done, client, dating)
        ):
            return
        if self.is_leaving or self.may_join(done):
            self._changes.setdefault(change, []).append((done, client))
            self.waiting += 1
            self._number += change.size
            if self.leaves_at_once or self._number >= MAX_BATCH_CHANGES:
                self.leave()

    def _leaves_alone(
        self, change: PackedChange, done: CountsCallback, client: CountingClient, dating: Dating
    ) -> bool:
        """Send one view of an open hour that has nothing else to note, in fewer steps than a batch:
        on a quiet site views come one by one. False if it is anything else."""
        page = change.page
        if page is None or page.left <= 0 or type(client) is not Person or not self.is_idle:
            return False
        moment, visits = dating.moment(), dating.visits
        visits.on(moment)
        day, salt = moment.day, visits.salt
        if page.opened != salt or client.day != day or change.origin is not NO_PACKED_ORIGIN:
            return False
        view = client.number ^ hash(change.args) ^ salt
        if visits.told[view & PLACES] != view:
            return False
        page.left -= 1
        words = [change.shares_on(day), page.counter, moment.packed, _ONE, change.args]

        def arrived(replies: list[Any] | StoreUnavailable) -> None:
            match replies:
                case [[int(count)]]:
                    self.landed(1)
                    return deliver(done, [count])
                case [[None]]:
                    # The counter is gone: nothing was counted.
                    error = None
                case [[Exception() as failed]] | [Exception() as failed]:
                    error = None if is_unknown_script(failed) else failure(failed)
                case _:
                    error = replies if isinstance(replies, StoreUnavailable) else StoreUnavailable()
            self.landed(0)
            visits.forget()
            if error:
                deliver(done, error)
            else:
                self.add(change, done, client)

        self.leave_alone(self._script.call(1, words, more=1), arrived)
        return True

    def _changed(self) -> list[ScriptCall]:
        if not self._changes:
            return []
        changes, self._changes, self._number = self._changes, {}, 0
        return [*map(self._call, _by_slot(changes) if self.is_cluster else (changes,))]

    def _call(self, changes: Changes) -> ScriptCall:
        if self._dating is None:
            return ChangeCall(self._script, changes, self._started)
        return DatedCall(self._script, changes, self._started, *self._dating)


class CounterNodeBatches(NodeBatches[CounterBatch]):
    """A CounterBatcher for a Cluster."""

    def add(
        self, change: PackedChange, done: CountsCallback, client: CountingClient = NO_CLIENT
    ) -> None:
        if len(change.parts) == 1:
            return self._at(change.slot).add(change, done, client)
        joint = Joint(change.size, len(change.parts), done)
        for places, part in change.parts:
            self._at(part.slot).add(part, partial(joint.received, places), client)


def _by_slot(changes: Changes) -> Iterable[Changes]:
    slots: defaultdict[int, Changes] = defaultdict(dict)
    for change, waiting in changes.items():
        slots[change.slot][change] = waiting
    return slots.values()


def batches_of(
    redis: RedisClient, scripts: Scripts, started: Started, dating: Dating | None
) -> dict[CommandSender, CounterBatcher]:
    """A batcher per sender: changes may wait for the disk or for replicas, and reads must not wait
    for them. With `dating`, views are dated."""
    make = partial(CounterBatch, redis, scripts, started, dating)
    of_node = partial(make, most_in_flight=MAX_NODE_BATCHES_IN_FLIGHT)
    return {
        sender: CounterNodeBatches(sender, of_node)
        if isinstance(sender, Cluster)
        else make(sender.ask)
        for sender in (redis.sender, redis.prompt, redis.changes)
    }

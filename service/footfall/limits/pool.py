"""What is scarce, shared fairly: places that clients hold, and turns for slow work.

Four rules, for every pool:

- **A share.** A client has at most `each`; a /48 has as much as HOMES_IN_A_NETWORK clients, and
  never more than a third of all.
- **Turns.** However much one client requests, another's short turn comes next: turns start in the
  order in which they would end if all clients were served at once, each at its own pace (weighted
  fair queueing; Demers, Keshav and Shenker 1989).
- **Who has most gives way.** When a pool is full, a client that has less gets the newest place of
  the one that has most (McKenney 1990), unless that work is being done already. So strangers fill a
  pool for others only by holding no more than those want.

- **A refusal has a price.** Who is refused and comes back at once, again and again, is kept out
  until that ends: so that a share is free for clients that wait as they were told.

A client that an account knows counts for less than it has, and so is before strangers in both.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from heapq import heapify, heappop, heappush
from time import monotonic
from typing import TypeVar

from ..errors import Busy, ServiceError, TooManyAtOnce
from ..netaddr import HOMES_IN_A_NETWORK
from .clients import BACKGROUND, PoolClient

# The time to retry, for a client whose earlier work must end first.
RETRY_MS = 1000
# The part of a pool that no network can exceed.
MOST_OF_A_NETWORK = 1 / 3
# A client may be refused as much as its share each second, and so many seconds' worth at once; with
# more it is kept out, for so long at most after its last try.
REFUSED_SECONDS = 2.0
KEPT_OUT_SECONDS = 10.0
# Clients of a pool whose refusals are remembered.
MAX_KEPT_OUT = 4096


T = TypeVar("T", bound=ServiceError)


class Place:
    """What a client holds of a pool; `evict`, if it is set, ends that for another client."""

    __slots__ = ("client", "cost", "evict")

    def __init__(
        self, client: PoolClient, cost: int, evict: Callable[[], object] | None = None
    ) -> None:
        self.client = client
        self.cost = cost
        self.evict = evict


class Shares:
    """Places for `each` client and for all together (`capacity`), in the caller's unit; `name` is
    in telemetry.metrics.LIMITS.

    What is larger than the rest of a share is still let in, so that nothing is too large.
    """

    def __init__(self, capacity: int, each: int, name: str = "") -> None:
        self.name = name
        self.capacity = capacity
        self.each = each
        self.of_network = min(
            HOMES_IN_A_NETWORK * each, max(each, int(capacity * MOST_OF_A_NETWORK))
        )
        self.taken = 0
        # Client, or one of its shares -> what it holds.
        self._loads = Counter[str]()
        # Client -> its places, oldest first.
        self._places: dict[str, dict[Place, None]] = {}
        # No client has more than this, by its weight.
        self._ceiling = 0.0
        # Client -> when its refusals will be paid for, the last one last.
        self._paid_at: dict[str, float] = {}

    def enter(
        self, client: PoolClient, cost: int = 1, evict: Callable[[], object] | None = None
    ) -> Place:
        """Raises TooManyAtOnce if the client's share is used up, or after many refusals; Busy if
        the pool is full."""
        place = Place(client, cost, evict)
        if client is BACKGROUND:
            return place
        try:
            self._require_room(client, cost)
        except (TooManyAtOnce, Busy) as error:
            self._charge(client, cost)
            raise self._named(error) from None
        self._places.setdefault(client.turn, {})[place] = None
        self._add(client, cost)
        return place

    def _require_room(self, client: PoolClient, cost: int) -> None:
        owed = self._paid_at.get(client.turn, 0.0) - monotonic() if self._paid_at else 0.0
        if owed > REFUSED_SECONDS:
            raise TooManyAtOnce(round(1000 * (owed - REFUSED_SECONDS)) + 1)
        if any(self._loads[share] >= self.each for share in client.shares) or (
            client.is_network and self._loads[client.turn] >= self.of_network
        ):
            raise TooManyAtOnce(RETRY_MS)
        load = (self._loads[client.turn] + cost) / client.weight
        while self.taken >= self.capacity:
            self._take_from_heaviest(load)
        self._ceiling = max(self._ceiling, load)

    def _charge(self, client: PoolClient, cost: int) -> None:
        """Note a refusal. It costs those nothing who have no share: they are many."""
        if not client.shares:
            return
        now = monotonic()
        paid_at = max(self._paid_at.pop(client.turn, now), now)
        share = self.of_network if client.is_network else self.each
        most = now + REFUSED_SECONDS + KEPT_OUT_SECONDS
        if len(self._paid_at) >= MAX_KEPT_OUT:
            del self._paid_at[next(iter(self._paid_at))]
        self._paid_at[client.turn] = min(paid_at + cost / share, most)

    def _named(self, error: T) -> T:
        error.limit = self.name
        return error

    def leave(self, place: Place) -> None:
        places = self._places.get(place.client.turn, {})
        if place not in places:
            # Background work, or a place that was evicted.
            return
        del places[place]
        if not places:
            del self._places[place.client.turn]
        self._add(place.client, -place.cost)

    @contextmanager
    def room(self, client: PoolClient, cost: int = 1) -> Iterator[Place]:
        """A place during the block. Raises TooManyAtOnce, Busy."""
        place = self.enter(client, cost)
        try:
            yield place
        finally:
            self.leave(place)

    def _take_from_heaviest(self, load: float) -> None:
        """Free the newest place of the client that holds most, for one that will hold `load`.
        Raises Busy if none holds more than that."""
        heaviest, most = None, 0.0
        # Strangers with a place each would else be searched for every newcomer.
        if load < self._ceiling:
            for places in self._places.values():
                newest = next((place for place in reversed(places) if place.evict), None)
                if newest and (held := self._held(newest.client)) > most:
                    heaviest, most = newest, held
            self._ceiling = max(map(self._held_by, self._places.values()), default=0.0)
        if heaviest is None or most <= load:
            raise Busy()
        assert heaviest.evict is not None
        self.leave(heaviest)
        heaviest.evict()

    def _held_by(self, places: dict[Place, None]) -> float:
        return self._held(next(iter(places)).client)

    def _held(self, client: PoolClient) -> float:
        return self._loads[client.turn] / client.weight

    def _add(self, client: PoolClient, cost: int) -> None:
        self.taken += cost
        for name in {client.turn, *client.shares}:
            self._loads[name] += cost
            if not self._loads[name]:
                del self._loads[name]


class Pool(Shares):
    """Work of which `at_once` is done at a time; the rest waits in turn, within its shares."""

    def __init__(self, at_once: int, capacity: int, each: int) -> None:
        super().__init__(capacity, each)
        self.at_once = at_once
        self._running = 0
        # The cost by which each client would have been served so far, at a weight of 1.
        self._served = 0.0
        # Client -> when its last turn would end, by that measure; how many it has here; its weight.
        self._ends: dict[str, float] = {}
        self._turns = Counter[str]()
        self._weights: dict[str, float] = {}
        # (virtual end, order of arrival, the waiting future)
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._number = 0

    @asynccontextmanager
    async def turn(self, client: PoolClient, cost: int = 1) -> AsyncIterator[None]:
        """A client's own turns keep their order. Raises TooManyAtOnce, Busy."""
        with self.room(client, cost) as place:
            async with self.turn_at(place):
                yield

    @asynccontextmanager
    async def turn_at(self, place: Place) -> AsyncIterator[None]:
        """At a place that the caller has entered before, and leaves. Raises Busy."""
        client = place.client
        end = max(self._served, self._ends.get(client.turn, 0)) + place.cost / client.weight
        self._ends[client.turn] = end
        self._turns[client.turn] += 1
        self._weights.setdefault(client.turn, client.weight)
        try:
            if self._running < self.at_once:
                self._running += 1
            else:
                await self._wait(place, end)
            try:
                yield
            finally:
                self._served += place.cost / sum(self._weights.values())
                self._pass_on()
        finally:
            self._forget(client.turn)

    async def _wait(self, place: Place, end: float) -> None:
        """Until a turn is passed on. Raises Busy."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._number += 1
        entry = end, self._number, turn
        heappush(self._waiting, entry)

        def evict() -> None:
            if not turn.done():
                turn.set_exception(self._named(Busy()))

        place.evict = evict
        try:
            await turn
        except BaseException:
            if entry in self._waiting:
                self._waiting.remove(entry)
                heapify(self._waiting)
            elif not turn.cancelled() and turn.exception() is None:
                # The turn was given to a task that is cancelled, so the next one gets it.
                self._pass_on()
            raise
        finally:
            place.evict = None

    def _pass_on(self) -> None:
        """Pass the turn on. It stays taken meanwhile, or a newcomer could be faster."""
        while self._waiting:
            _, _, turn = heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                return
        self._running -= 1

    def _forget(self, client: str) -> None:
        self._turns[client] -= 1
        if not self._turns[client]:
            del self._turns[client], self._ends[client], self._weights[client]
        if not self._turns:
            self._served = 0.0

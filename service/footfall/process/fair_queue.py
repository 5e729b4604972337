"""A queue in which clients share one worker fairly, by the cost of their turns.

However much one client requests, another's short turn comes next: turns end in the order in which
they would end if all waiting clients were served at the same time, each at the same pace (fair
queueing, Demers, Keshav and Shenker 1989).
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from heapq import heappop, heappush


class FairQueue:
    """One turn at a time; a client's own turns keep their order."""

    def __init__(self) -> None:
        self._is_taken = False
        # The cost by which each client would have been served so far.
        self._served = 0.0
        # Client -> when its last turn would end, by that measure, and how many it has here.
        self._ends: dict[str, float] = {}
        self._turns = Counter[str]()
        # (virtual end, order of arrival, the waiting future)
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._number = 0

    @asynccontextmanager
    async def turn(self, client: str, cost: float = 1) -> AsyncIterator[None]:
        """`cost` in any unit, which is the same for all."""
        end = max(self._served, self._ends.get(client, 0)) + cost
        self._ends[client] = end
        self._turns[client] += 1
        try:
            if self._is_taken:
                await self._wait(end)
            self._is_taken = True
            try:
                yield
            finally:
                self._served += cost / len(self._turns)
                self._pass_on()
        finally:
            self._leave(client)

    async def _wait(self, end: float) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._number += 1
        heappush(self._waiting, (end, self._number, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                # The turn was given to a task that is cancelled, so the next one gets it.
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        """Pass the turn on. It stays taken meanwhile, or a newcomer could be faster."""
        while self._waiting:
            _, _, turn = heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                return
        self._is_taken = False

    def _leave(self, client: str) -> None:
        self._turns[client] -= 1
        if not self._turns[client]:
            del self._turns[client], self._ends[client]
        if not self._turns:
            self._served = 0

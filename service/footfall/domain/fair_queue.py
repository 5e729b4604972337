"""A queue that is served round robin: each client that waits gets one turn, then the next client.

However much one client asks for, another waits for one turn of each other client at most.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class FairQueue:
    """One turn at a time; a client's own turns come in the order in which it asked for them."""

    def __init__(self) -> None:
        self._is_taken = False
        # Whose turn it is, or was last.
        self._client = ""
        # Client -> the turns that it waits for. The first client is the next one.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncIterator[None]:
        if self._is_taken:
            await self._wait(client)
        else:
            self._is_taken, self._client = True, client
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, client: str) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                # The turn was given to a task that is cancelled, so the next one gets it.
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        """Give the turn away. It stays taken meanwhile, or a newcomer could be faster."""
        # The client that had it is behind all who came meanwhile.
        if self._client in self._waiting:
            self._waiting[self._client] = self._waiting.pop(self._client)
        while self._waiting:
            self._client = next(iter(self._waiting))
            turns = self._waiting[self._client]
            turn = turns.popleft()
            if not turns:
                del self._waiting[self._client]
            if not turn.done():
                turn.set_result(None)
                return
        self._is_taken = False

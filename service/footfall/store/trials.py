"""Trials: the counters of `footfall bench` and `verify`, apart from a site's, kept for an hour.

COUNTER_LIMIT and NEW_COUNTER_RATE do not apply to them. Instead all services together let so many
trials begin within an hour, and lua/counters/add.lua limits the counters of each.
"""

import asyncio
import time
from collections.abc import Callable, Iterable

from ..driver.batch_kinds import CountsCallback
from ..driver.keys import Keys
from ..driver.scripts import Scripts
from ..errors import TooManyTrials

# How long a trial lasts; lua/counters/add.lua has its counters expire after the same time.
TRIAL_MS = 3_600_000


class Trials:
    """`most` trials may begin within an hour; with 0, reading their counters is refused, too."""

    def __init__(self, scripts: Scripts, keys: Keys, most: int) -> None:
        self._admit = scripts["trials/admit"]
        self._keys = keys
        self.most = most
        # Trials that have begun -> when they end, in seconds of the monotonic clock.
        self._until: dict[str, float] = {}
        self._admitting = set[asyncio.Task[None]]()

    def knows(self, ids: Iterable[str]) -> bool:
        """Have all of these begun and not ended, as far as this process knows?"""
        now = time.monotonic()
        return all(self._until.get(id, 0.0) > now for id in ids)

    async def admit(self, ids: Iterable[str]) -> None:
        """Begin those that have not begun. Raises TooManyTrials, StoreUnavailable."""
        for id in ids:
            if not self.knows([id]):
                await self._begin(id)

    def when_admitted(
        self, ids: Iterable[str], go: Callable[[], None], done: CountsCallback
    ) -> None:
        """Call `go` once all have begun, at once if they have; or `done` with the exception."""
        if self.knows(ids):
            go()
            return
        task = asyncio.get_running_loop().create_task(self._go(ids, go, done))
        # The event loop keeps only a weak reference to a task.
        self._admitting.add(task)
        task.add_done_callback(self._admitting.discard)

    async def _go(self, ids: Iterable[str], go: Callable[[], None], done: CountsCallback) -> None:
        try:
            await self.admit(ids)
        except Exception as error:
            done(error)
        else:
            go()

    async def _begin(self, id: str) -> None:
        word, left_ms = await self._admit(
            trials=self._keys.site("trials"),
            id=id,
            now=time.time_ns() // 1_000_000,
            window=TRIAL_MS,
            most=self.most,
        )
        if word != b"OK":
            raise TooManyTrials(self.most, left_ms)
        now = time.monotonic()
        self._until = {id: until for id, until in self._until.items() if until > now}
        self._until[id] = now + left_ms / 1000

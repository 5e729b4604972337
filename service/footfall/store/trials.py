"""Trials: counters that measuring counts, apart from a site's, and forgotten after an hour.

They pay for nothing and COUNTER_LIMIT does not count them, so they are bounded by themselves: so
many trials may begin within an hour, for all services together, and lua/counters/add.lua bounds the
counters of one.
"""

import asyncio
import time
from collections.abc import Callable, Iterable

from ..driver.batch_kinds import CountsCallback
from ..driver.keys import Keys
from ..driver.scripts import Scripts
from ..errors import NoRoom

# As lua/counters/add.lua lets the counters of a trial expire.
LASTS_MS = 3_600_000


class Trials:
    """`most` may begin within an hour; 0: none, and reading them is refused, too."""

    def __init__(self, scripts: Scripts, keys: Keys, most: int) -> None:
        self._admit = scripts["trials/admit"]
        self._keys = keys
        self.most = most
        # Trials that go on, and until when, by the monotonic clock.
        self._until: dict[str, float] = {}
        self._admitting = set[asyncio.Task[None]]()

    def knows(self, ids: Iterable[str]) -> bool:
        """Do all of these go on, as far as this process knows?"""
        now = time.monotonic()
        return all(self._until.get(id, 0.0) > now for id in ids)

    async def admit(self, ids: Iterable[str]) -> None:
        """Let trials begin, if they have not. Raises NoRoom, StoreUnavailable."""
        for id in ids:
            if not self.knows([id]):
                await self._begin(id)

    def when_admitted(
        self, ids: Iterable[str], go: Callable[[], None], done: CountsCallback
    ) -> None:
        """Go on, at once if they are known; `done` hears why not."""
        if self.knows(ids):
            go()
            return
        task = asyncio.get_running_loop().create_task(self._go(ids, go, done))
        # Kept here, because nobody else holds on to a task.
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
            trials=self._keys.site("trials"), id=id, now=time.time_ns() // 1_000_000,
            window=LASTS_MS, most=self.most,
        )  # fmt: skip
        if word != b"OK":
            minutes = -(-left_ms // 60_000)
            raise NoRoom(
                f"As many trials have begun within an hour as may (TRIALS={self.most}); "
                f"the next one may begin in {minutes} minutes"
            )
        now = time.monotonic()
        self._until = {id: until for id, until in self._until.items() if until > now}
        self._until[id] = now + left_ms / 1000

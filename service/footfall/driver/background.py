"""Work in the background: only the end of a process waits for it."""

import asyncio
from collections.abc import Coroutine


class Background:
    def __init__(self) -> None:
        # The event loop keeps only weak references to tasks.
        self._tasks = set[asyncio.Task[None]]()

    def start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finished(self) -> None:
        """Wait until all started work is done, including work started by it."""
        while self._tasks:
            await asyncio.gather(*self._tasks)

"""Imports within a running service, which answers requests meanwhile over the same connection.

A thread reads the file, and its sender gets the progress. An import continues after its page was
closed; it ends with the service, and stored rows stay.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import orjson

from ..comments.noun import Comments
from ..data.imports import Imports, Way
from ..errors import BadRequest, Unavailable
from .archives import members
from .formats import Unknown, chosen
from .importing import Import, run
from .report import ImportReport
from .source import Damaged, Source

T = TypeVar("T")

# The time between two reports of progress.
TELL_SECONDS = 1.0
# The maximum of changed or rejected rows in a report.
MAX_ROWS = 500


class _Stopped(Exception):
    """Ends an import at the stop of the service."""


@dataclass(slots=True)
class _State:
    """How far an import is: its step, and the share of that."""

    step: str = "file"
    share: float = 0.0
    is_stopped: bool = False
    rows: list[bytes] = field(default_factory=list)

    def on_progress(self, step: str, share: float) -> None:
        """The thread calls it, too, and ends by its exception."""
        if self.is_stopped:
            raise _Stopped()
        self.step, self.share = step, share

    def note(self, line: bytes) -> None:
        if len(self.rows) < MAX_ROWS:
            self.rows.append(line)


class StoringImporter:
    def __init__(self, imports: Imports) -> None:
        self._imports = imports
        self._is_busy = False

    async def file(
        self, comments: Comments, path: Path, way: str, *, is_dry: bool
    ) -> AsyncGenerator[dict[str, Any]]:
        if self._is_busy:
            raise Unavailable()
        state, self._is_busy = _State(), True
        task = asyncio.create_task(self._import(comments, path, cast(Way, way), state, is_dry))
        try:
            while not (await asyncio.wait({task}, timeout=TELL_SECONDS))[0]:
                yield {"step": state.step, "share": round(state.share, 3)}
            yield await task
        finally:
            state.is_stopped = True
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            self._is_busy = False

    async def _import(
        self, comments: Comments, path: Path, way: Way, state: _State, is_dry: bool
    ) -> dict[str, Any]:
        report = ImportReport(state.note)
        on_share = partial(state.on_progress, "file")
        source = Source(path, name="file", on_progress=on_share)
        with ExitStack() as stack:
            try:
                files = await _in_a_thread(lambda: stack.enter_context(members(source)))
                format, files = await _in_a_thread(lambda: chosen(files, report))
                wanted = Import(format, way, is_dry, may_administer=False)
                imports, on_progress = self._imports, state.on_progress
                await run(comments, imports, files, wanted, report, on_progress, _in_a_thread)
            except Unknown:
                raise BadRequest({"file": "file has an unknown format"}) from None
            except Damaged as error:
                raise BadRequest({"file": f"nothing was imported: {error}"}) from error
        return {
            "format": format.title,
            "isDry": is_dry,
            **report.summary(),
            "reasons": report.every_reason(),
            "rows": list(map(orjson.loads, state.rows)),
        }


async def _in_a_thread(work: Callable[[], T]) -> T:
    """Waits for the thread even if it is cancelled: what that works on is closed afterwards."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    finally:
        await asyncio.wait({running})

"""Bulk actions that continue in the background, in bounded steps.

Each step stores its own record for an undo (bulk.py), and the action's progress. If the process
ends in the middle, finished steps stay, can be undone, and the action shows that it has stopped.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack, aclosing
from dataclasses import asdict, dataclass, replace
from typing import Literal

from ...driver.replies import ErrorReply
from ...errors import BadRequest, NotOver, Refused, Unavailable
from ...model import Caller, Status
from ...process.shares import queued_client_of
from ...site import Comments
from ..store.ids import is_id
from . import bulk, queue
from .queue import Wanted

Deed = Literal["approved", "waiting", "spam", "deleted"]
# Comments that one action changes, and that it looks at to find them.
MAX_BULK_COMMENTS = 5000
MAX_BULK_SEARCHED = 20_000
# An action ends after this, so that all of it can still be undone: deleted comments are removed a
# minute later.
MAX_BULK_MS = 25_000
# Comments of a step, and a pause after it for other requests.
BULK_STEP_COMMENTS = 100
PACE_SECONDS = 0.005
# An action without progress for this long has ended with its process.
STOPPED_MS = 15_000
# A request waits this long for the end of its action: most end by then.
WAIT_SECONDS = 0.7


@dataclass(frozen=True, slots=True)
class Matching:
    """A whole list, up to the `newest` comment that the moderator saw.

    Later comments are excluded: nobody has seen them.
    """

    wanted: Wanted
    newest: str


Targets = Sequence[str] | Matching


@dataclass(frozen=True, slots=True)
class BulkAction:
    """`done` comments were changed, and `left` could not be, of `total`; None while the total is
    unknown.

    It `is_cut` if it reached its limits. `undo` are the records of its undo (bulk.py), in order;
    `at_ms` is when this was stored.
    """

    total: int | None
    done: int = 0
    left: int = 0
    is_running: bool = True
    is_cut: bool = False
    undo: tuple[str, ...] = ()
    at_ms: int = 0

    def with_step(self, step: bulk.BulkResult) -> "BulkAction":
        results = [*step.results.values()]
        done = results.count("done")
        left = len(results) - done - results.count("unchanged")
        undo = (*self.undo, step.undo) if step.undo else self.undo
        return replace(self, done=self.done + done, left=self.left + left, undo=undo)


async def begin(
    comments: Comments, deed: Deed, targets: Targets, caller: Caller, *, only: Status | None = None
) -> tuple[str, BulkAction]:
    """Give all of these comments another status, or delete them with their replies; with `only`
    those that still have this status. Raises BadRequest, TooManyAtOnce, Busy.

    The action's name, and how far it is: mostly at its end.
    """
    if isinstance(targets, Matching):
        if not is_id(targets.newest):
            raise BadRequest({"newest": "newest need the objectId of a comment"})
        total = None
        if not targets.wanted.is_search:
            total, _ = await comments.index.listed(targets.wanted.statuses, size=1)
        pieces = _matching(comments, targets)
    else:
        total, pieces = len(targets), _named(targets)

    async def one(ids: Sequence[str]) -> bulk.BulkResult:
        seen = dict.fromkeys(ids, only) if only else bulk.ANY
        if deed == "deleted":
            return await bulk.delete(comments, ids, caller, seen)
        return await bulk.moderate(comments, ids, caller, status=deed, seen=seen)

    async def steps() -> AsyncGenerator[bulk.BulkResult]:
        async with aclosing(pieces):
            async for ids in pieces:
                if ids:
                    yield await one(ids)

    return await _start(comments, BulkAction(total), steps(), caller)


async def undo(comments: Comments, name: str, caller: Caller) -> tuple[str, BulkAction]:
    """Undo a finished action; the undo's own name, and its progress.

    What failed can be undone again by the same name, for a minute.

    Raises Refused, TooManyAtOnce, Busy.
    """
    action = await look(comments, name)
    if action.is_running:
        raise NotOver()
    if not action.undo:
        raise Refused("This can no longer be undone")

    # Those of its first steps would be gone before it is their turn.
    await comments.undo_records.hold(action.undo)

    async def steps() -> AsyncGenerator[bulk.BulkResult]:
        # The oldest comments first, since a reply needs its root.
        for name in reversed(action.undo):
            try:
                result = await bulk.undo(comments, name, caller)
            except (Unavailable, NotOver):
                result = bulk.BulkResult({}, name)
            if result:
                yield result

    return await _start(comments, BulkAction(action.done), steps(), caller)


async def look(comments: Comments, name: str) -> BulkAction:
    """How far an action is. Raises Refused if it has expired."""
    fields = await comments.bulk_actions.get(name) if name.isalnum() else None
    if fields is None:
        raise Refused("This action is no longer known")
    action = BulkAction(**{**fields, "undo": tuple(fields["undo"])})
    if comments.process.clock() - action.at_ms > STOPPED_MS:
        return replace(action, is_running=False)
    return action


async def _start(
    comments: Comments, action: BulkAction, steps: AsyncGenerator[bulk.BulkResult], caller: Caller
) -> tuple[str, BulkAction]:
    name, ended = secrets.token_hex(8), asyncio.Event()
    with ExitStack() as stack:
        stack.enter_context(comments.bulk_shares.room(queued_client_of(caller), 1))
        await _note(comments, name, action)
        kept = stack.pop_all()
    comments.process.background.start(_carry_out(comments, name, action, steps, kept, ended))
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(ended.wait(), WAIT_SECONDS)
    return name, await look(comments, name)


async def _carry_out(
    comments: Comments,
    name: str,
    action: BulkAction,
    steps: AsyncGenerator[bulk.BulkResult],
    kept: ExitStack,
    ended: asyncio.Event,
) -> None:
    began_ms = comments.process.clock()
    # Where Redis goes away, the action is seen to have stopped.
    with kept, contextlib.suppress(Unavailable, ErrorReply):
        try:
            async with aclosing(steps):
                async for result in steps:
                    action = action.with_step(result)
                    is_late = comments.process.clock() - began_ms > MAX_BULK_MS
                    if action.done + action.left >= MAX_BULK_COMMENTS or is_late:
                        action = replace(action, is_cut=True)
                        break
                    await _note(comments, name, action)
                    await asyncio.sleep(PACE_SECONDS)
        finally:
            await _note(comments, name, replace(action, is_running=False))
            ended.set()


async def _note(comments: Comments, name: str, action: BulkAction) -> None:
    noted = replace(action, at_ms=comments.process.clock())
    await comments.bulk_actions.note(name, asdict(noted))


async def _named(ids: Sequence[str]) -> AsyncGenerator[Sequence[str]]:
    # The newest first, so that each is deleted by itself, not together with its parent.
    newest_first = sorted(set(ids), reverse=True)
    for first in range(0, len(newest_first), BULK_STEP_COMMENTS):
        yield newest_first[first : first + BULK_STEP_COMMENTS]


async def _matching(comments: Comments, targets: Matching) -> AsyncGenerator[Sequence[str]]:
    newest = await comments.store.by_ids([targets.newest])
    yield [comment.id for comment in await queue.matching(comments, targets.wanted, newest)]
    looked_at = queue.steps(comments, targets.wanted, targets.newest, most=MAX_BULK_SEARCHED)
    async with aclosing(looked_at):
        async for step in looked_at:
            yield [comment.id for comment in step.matching]

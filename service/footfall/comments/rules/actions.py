"""Actions of moderators on comments, one or thousands, which can be undone for a minute.

Each has a name, which the client may choose, and a record that is written before anything changes
(orders.py): so nothing is lost when a reply is. A long one goes on after its request, in bounded
steps. If the process ends in the middle, finished steps stay, can be undone, and the action shows
that it has stopped.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import ExitStack, aclosing, suppress
from dataclasses import asdict, dataclass, replace

from ...driver.replies import ErrorReply
from ...errors import BadRequest, NotOver, Refused, Unavailable
from ...ids import is_id
from ...limits.clients import pool_client_of
from ...model import MODERATORS, Caller, StoredComment
from ...render.versions import version
from ..noun import Comments
from . import queue
from .orders import Deed, Order, Result, Seen, Steps, Work
from .progress import Action, look, stored
from .queue import Wanted
from .undo import Undo

# Comments that one action changes, and that it looks at to find them.
MAX_BULK_COMMENTS = 5000
MAX_BULK_SEARCHED = 20_000
# A long action ends after this, so that all of it can still be undone.
MAX_BULK_MS = 25_000
# Comments of a step, and a pause after it for other requests.
STEP_COMMENTS = 100
PACE_SECONDS = 0.005
# How often the end of an action is noted, while replies are lost.
MAX_NOTES = 3
# Results are stored for so many comments, for clients that ask again.
MAX_RESULTS = 200
# A request waits this long for the end of a long action: most end by then.
WAIT_SECONDS = 0.7
# Names that clients choose are as hard to guess as our own.
MIN_NAME, MAX_NAME = 16, 64


@dataclass(frozen=True, slots=True)
class Matching:
    """A whole list, up to the `newest` comment that the moderator saw.

    Later comments are excluded: nobody has seen them.
    """

    wanted: Wanted
    newest: str


# --- one request: all of it, with the result of each comment


async def carry_out(
    comments: Comments, order: Order, seen: Seen, caller: Caller, *, name: str = ""
) -> Action:
    """Do this to the comments of `seen`, and wait for the end.

    An action of this name that has ended is not repeated: this is its outcome. Raises BadRequest,
    NotOver; Unavailable: nothing was done.
    """
    action = _action(comments, caller, order.deed, len(seen), name)
    steps = _steps(comments, order, action, _named(seen), caller)
    run = await _start(comments, action, steps, caller, is_named=bool(name))
    return _all_of(await run.ended(), seen)


async def undo(comments: Comments, name: str, caller: Caller) -> Action:
    """Restore what this action has changed, unless it was changed since. What failed can be undone
    again. Raises NotOver, Refused, Unavailable."""
    return await (await _start_undo(comments, name, caller)).ended()


# --- in the background, in bounded steps


async def start(
    comments: Comments, order: Order, targets: Seen | Matching, caller: Caller, *, name: str = ""
) -> Action:
    """Do this to many comments; how far it is, which mostly is its end. Raises BadRequest,
    TooManyAtOnce, Busy, Unavailable."""
    total: int | None
    if isinstance(targets, Matching):
        if not is_id(targets.newest):
            raise BadRequest({"newest": "newest need the objectId of a comment"})
        total = None
        if not targets.wanted.is_search:
            total, _ = await comments.index.listed(targets.wanted.statuses, size=1)
        pieces = _matching(comments, targets)
    else:
        total, pieces = len(targets), _named(targets)
    action = _action(comments, caller, order.deed, total, name)
    steps = _steps(comments, order, action, pieces, caller)
    return await (await _start(comments, action, steps, caller, is_long=True)).soon()


async def start_undo(comments: Comments, name: str, caller: Caller) -> Action:
    """Start an undo, which has a name of its own. Raises TooManyAtOnce, Busy, Refused,
    NotOver, Unavailable."""
    return await (await _start_undo(comments, name, caller, is_long=True)).soon()


# --- its course


class _Run:
    """An action, and how far it is; `steps` is None if it goes on, or has ended, elsewhere."""

    def __init__(
        self, comments: Comments, action: Action, caller: Caller, *, is_stored: bool, is_long: bool
    ) -> None:
        self.action = action
        self.steps: Steps | None = None
        self.share = ExitStack()
        self._comments = comments
        self._caller = caller
        self._is_stored = is_stored
        self._is_long = is_long
        self._ended = asyncio.Event()
        self._has_failed = False

    async def ended(self) -> Action:
        """Carry it out. Raises Unavailable if nothing was done; NotOver."""
        await self._go_on()
        if self.action.is_running:
            raise NotOver()
        return self._outcome()

    async def soon(self) -> Action:
        """Carry it out in the background; how far it is after WAIT_SECONDS. Raises Unavailable."""
        self._comments.process.background.start(self._go_on())
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), WAIT_SECONDS)
        return self._outcome()

    def _outcome(self) -> Action:
        if self._has_failed and not self.action.results:
            raise Unavailable()
        return self.action

    async def _go_on(self) -> None:
        try:
            if self.steps:
                with self.share:
                    await self._take(self.steps)
        finally:
            self._ended.set()

    async def _take(self, steps: Steps) -> None:
        try:
            async with aclosing(steps):
                async for results in steps:
                    self.action = self.action.with_step(results)
                    if not self._is_long:
                        continue
                    if not await self._may_go_on():
                        self.action = replace(self.action, is_cut=True)
                        break
                    await self._note()
                    await asyncio.sleep(PACE_SECONDS)
        except (Unavailable, ErrorReply):
            self._has_failed = True
            self.action = replace(self.action, is_cut=True)
        finally:
            self.action = replace(self.action, is_running=False)
            # If all of these replies are lost, the action is seen to have stopped after a while.
            for _ in range(MAX_NOTES):
                with suppress(Unavailable, ErrorReply):
                    await self._note()
                    break

    async def _may_go_on(self) -> bool:
        if self.action.done + self.action.left >= MAX_BULK_COMMENTS:
            return False
        if self._comments.process.clock() - self.action.started_ms > MAX_BULK_MS:
            return False
        account = self._caller.viewer.account
        if account is None or self._caller.door in ("command", "mail"):
            return True
        stored = await self._comments.accounts.store.by_id(account.id)
        return stored is not None and stored.account.role in MODERATORS

    async def _note(self) -> None:
        # Where nothing was done and nobody asks for it, nothing is stored.
        if not (self._is_stored or self.action.can_undo):
            return
        head = replace(self.action, at_ms=self._comments.process.clock())
        if len(head.results) > MAX_RESULTS:
            head = replace(head, results={})
        await self._comments.actions.note(self.action.name, asdict(head))


async def _start(
    comments: Comments,
    action: Action,
    steps: Steps,
    caller: Caller,
    *,
    is_named: bool = False,
    is_long: bool = False,
) -> _Run:
    """Stored first, if the client has named it or will look at its progress."""
    is_stored = is_named or is_long
    with ExitStack() as stack:
        if is_long:
            stack.enter_context(comments.process.pools.bulk_actions.room(pool_client_of(caller)))
        run = _Run(comments, action, caller, is_stored=is_stored, is_long=is_long)
        if is_stored and not await comments.actions.start(
            action.name, asdict(action), action.at_ms
        ):
            run.action = await look(comments, action.name)
            return run
        run.steps, run.share = steps, stack.pop_all()
    return run


def _steps(
    comments: Comments, order: Order, action: Action, pieces: AsyncGenerator[Seen], caller: Caller
) -> Steps:
    return Work(comments, order, action.name, asdict(action), caller).steps(pieces)


def _action(
    comments: Comments, caller: Caller, deed: Deed, total: int | None, name: str = ""
) -> Action:
    """Raises BadRequest."""
    if name and not (name.isascii() and name.isalnum() and MIN_NAME <= len(name) <= MAX_NAME):
        length = f"{MIN_NAME} to {MAX_NAME}"
        raise BadRequest({"action": f"action should be {length} letters and digits"})
    by = caller.viewer.account.id if caller.viewer.account else ""
    now_ms = comments.process.clock()
    new = name or secrets.token_hex(8)
    return Action(new, by, deed, total, started_ms=now_ms, at_ms=now_ms)


def _all_of(action: Action, ids: Iterable[str]) -> Action:
    """With a result for each; what was not reached before Redis went away has failed."""
    failed: dict[str, Result] = dict.fromkeys(ids, "failed")
    return replace(action, results=failed | action.results)


async def _named(seen: Seen) -> AsyncGenerator[Seen]:
    # The newest first, so that each is deleted by itself, not together with its parent.
    newest_first = sorted(seen, reverse=True)
    for first in range(0, len(newest_first), STEP_COMMENTS):
        yield {id: seen[id] for id in newest_first[first : first + STEP_COMMENTS]}


async def _matching(comments: Comments, targets: Matching) -> AsyncGenerator[Seen]:
    newest = await comments.store.by_ids([targets.newest])
    yield _versions(await queue.matching(comments, targets.wanted, newest))
    looked_at = queue.steps(comments, targets.wanted, targets.newest, most=MAX_BULK_SEARCHED)
    async with aclosing(looked_at):
        async for step in looked_at:
            yield _versions(step.matching)


def _versions(stored: Sequence[StoredComment]) -> Seen:
    return {comment.id: version(comment) for comment in stored}


async def _start_undo(
    comments: Comments, name: str, caller: Caller, *, is_long: bool = False
) -> _Run:
    undone = await stored(comments, name)
    if undone and undone.is_running:
        raise NotOver()
    entries = await comments.actions.claim(name) if undone else {}
    if not (undone and entries):
        raise Refused("This can no longer be undone")
    action = replace(_action(comments, caller, undone.deed, len(entries)), is_undo=True)
    steps = Undo(comments, name, undone.deed, entries, caller).steps(STEP_COMMENTS)
    try:
        return await _start(comments, action, steps, caller, is_long=is_long)
    except BaseException:
        await comments.actions.release(name)
        raise

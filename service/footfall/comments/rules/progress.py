"""How far actions of moderators are, and what they have done (actions.py)."""

from contextlib import suppress
from dataclasses import dataclass, field, replace

from ...errors import Refused
from ..noun import Comments
from ..store.projections import UNDO_MS
from .orders import Deed, Result

# An action without progress for this long has ended with its process.
STOPPED_MS = 15_000


@dataclass(frozen=True, slots=True)
class Action:
    """`done` comments were changed, and `left` could not be, of `total`; None while the total is
    unknown. `by` is an account.

    It `is_cut` if it reached its limits, or ended early: Redis did not answer, or the moderator may
    no longer do this. `results` are those of short actions; `at_ms` is when this was stored, and
    `started_ms` when it started.
    """

    name: str
    by: str
    deed: Deed
    total: int | None
    done: int = 0
    left: int = 0
    failed: int = 0
    is_running: bool = True
    is_cut: bool = False
    is_undo: bool = False
    started_ms: int = 0
    at_ms: int = 0
    results: dict[str, Result] = field(default_factory=dict)

    @property
    def can_undo(self) -> bool:
        """`failed` ones may have been changed; an undo can be repeated."""
        return self.failed > 0 or (self.done > 0 and not self.is_undo)

    def left_ms(self, now_ms: int) -> int:
        """How long it can be undone."""
        return max(self.at_ms + UNDO_MS - now_ms, 0)

    def with_step(self, results: dict[str, Result]) -> "Action":
        words = [*results.values()]
        done, unchanged = words.count("done"), words.count("unchanged")
        return replace(
            self,
            done=self.done + done,
            left=self.left + len(words) - done - unchanged,
            failed=self.failed + words.count("failed"),
            results=self.results | results,
        )


async def look(comments: Comments, name: str) -> Action:
    """How far an action is. Raises Refused if it has expired."""
    if action := await stored(comments, name):
        return action
    raise Refused("This action is no longer known")


async def stored(comments: Comments, name: str) -> Action | None:
    """A stored action; None if it has expired."""
    head = await comments.actions.head(name) if name.isalnum() else None
    action = Action(**head) if head else None
    if action and action.is_running and comments.process.clock() - action.at_ms > STOPPED_MS:
        return await _stopped(comments, action)
    return action


async def _stopped(comments: Comments, action: Action) -> Action:
    """What an action has done whose end was not noted; of an undo that is known up to there."""
    action = replace(action, is_running=False, is_cut=True)
    if action.is_undo:
        return action
    last = await comments.moderation.decisions([*await comments.actions.entries(action.name)])
    mine = [id for id, decision in last.items() if decision.actor.action == action.name]
    results: dict[str, Result] = dict.fromkeys(mine, "done")
    return replace(action, done=len(mine), results=results)


async def recent(comments: Comments) -> list[Action]:
    """The actions of the last minute that can be undone, newest first."""
    found = list[Action]()
    for name in await comments.actions.recent(comments.process.clock() - UNDO_MS):
        with suppress(Refused):
            found.append(await look(comments, name))
    return [action for action in found if action.can_undo and not action.is_undo]

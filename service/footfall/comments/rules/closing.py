"""Closing pages to new comments, now or some days after their first one."""

from ...errors import CommentsClosed
from ...model import Caller
from ...permissions import name_in_log
from ..noun import Comments
from ..store import closings
from .held_sweep import DAY_MS

MAX_DAYS, OPEN = closings.MAX_DAYS, closings.OPEN


async def require_open(comments: Comments, path: str, days: int | None, caller: Caller) -> None:
    """Raises CommentsClosed by the rule of this page; moderators are exempt."""
    if days is None or days == OPEN or caller.viewer.is_moderator:
        return
    if days:
        first = await comments.store.closings.first_at(path)
        if first is None or comments.process.clock() < first + days * DAY_MS:
            return
    raise CommentsClosed()


async def close(comments: Comments, path: str, days: int | None, caller: Caller) -> bool:
    """Give a page this rule, None for none of its own; "" is for all pages without one.

    False if it is the same as before. Raises TooManyClosings.
    """
    before = await comments.store.closings.get(path)
    if before == days:
        return False
    if days is None:
        await comments.store.closings.remove(path)
    else:
        await comments.store.closings.set(path, days)
    words = {"was": described(before), "now": described(days)}
    await comments.log.add(by=name_in_log(caller), did="close", id=path or "*", **words)
    return True


def described(days: int | None) -> str:
    """A rule in the log."""
    if days is None:
        return ""
    if days == OPEN:
        return "open"
    return f"closed after {days} days" if days else "closed"

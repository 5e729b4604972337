"""Closing pages to new comments, now or some days after their first one."""

from collections.abc import Callable

from ...errors import CommentsClosed
from ...model import Caller
from ...permissions import account_id
from ..noun import Comments
from ..store import closings
from .held_sweep import DAY_MS

MAX_DAYS, OPEN = closings.MAX_DAYS, closings.OPEN


def require_open(
    days: int | None, first_ms: int | None, clock: Callable[[], int], caller: Caller
) -> None:
    """Raises CommentsClosed by a page's rule, so many days after its first comment; moderators are
    exempt."""
    if days is None or days == OPEN or caller.viewer.is_moderator:
        return
    if not days or (first_ms is not None and clock() >= first_ms + days * DAY_MS):
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
    await comments.log.add(by=account_id(caller), did="close", id=path or "*", **words)
    return True


def described(days: int | None) -> str:
    """A rule in the log."""
    if days is None:
        return ""
    if days == OPEN:
        return "open"
    return f"closed after {days} days" if days else "closed"

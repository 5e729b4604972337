"""Spam that nobody will look at again goes by itself: SPAM_DAYS after it was written.

What was marked as spam only now may be as old, and somebody may take that back. So a comment is
noted first, and deleted a day later if it is spam still.
"""

from ...site import Comments
from ..store.deletions import SWEEPER

DAY_MS = 86_400_000
HOUR_MS = 3_600_000
# Comments of a step, and of an hour.
STEP_COMMENTS = 200
MAX_SWEPT = 20_000


class SpamSweep:
    def __init__(self, comments: Comments) -> None:
        self._comments = comments
        self._due_ms = 0

    async def step(self) -> None:
        """Once an hour. Several services may do it at once. Raises StoreUnavailable."""
        comments, days = self._comments, self._comments.rules.spam_days
        now_ms = comments.process.clock()
        if not days or abs(now_ms - self._due_ms) < HOUR_MS:
            return
        self._due_ms = now_ms
        for first in range(0, MAX_SWEPT, STEP_COMMENTS):
            if not await self._some(first, now_ms - days * DAY_MS, now_ms):
                break
        await comments.index.forget_noted_spam(now_ms - 2 * DAY_MS)

    async def _some(self, first: int, before_ms: int, now_ms: int) -> bool:
        """False at the end."""
        comments = self._comments
        noted = await comments.index.note_spam(before_ms, now_ms, first, STEP_COMMENTS)
        due = [id for id, since_ms in noted.items() if since_ms <= now_ms - DAY_MS]
        for stored in await comments.store.by_ids(due) if due else ():
            if stored.status == "spam":
                await comments.deletions.delete(stored, now_ms, SWEEPER)
        return len(noted) == STEP_COMMENTS

"""Deletes old spam: SPAM_DAYS after it was written.

A comment just marked as spam may be as old, and the mark may be undone. So a comment is noted
first, and deleted a day later if it is still spam.
"""

from contextlib import suppress

from ...site import Comments
from ..store.deletions import SWEEPER
from ..store.moderation import Overtaken

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
        """Runs hourly; several services may run it at once. Raises StoreUnavailable."""
        comments, days = self._comments, self._comments.rules.spam_days
        now_ms = comments.process.clock()
        if not days or abs(now_ms - self._due_ms) < HOUR_MS:
            return
        self._due_ms = now_ms
        noted = dict[str, int]()
        for first in range(0, MAX_SWEPT, STEP_COMMENTS):
            before_ms = now_ms - days * DAY_MS
            some = await comments.index.note_spam(before_ms, now_ms, first, STEP_COMMENTS)
            noted |= some
            if len(some) < STEP_COMMENTS:
                # If it is no longer spam, a later mark starts again.
                await comments.index.forget_noted_spam_but(noted)
                break
        # After the walk, whose positions a deletion would shift.
        due = [id for id, since_ms in noted.items() if since_ms <= now_ms - DAY_MS]
        deleted = 0
        for first in range(0, len(due), STEP_COMMENTS):
            for stored in await comments.store.by_ids(due[first : first + STEP_COMMENTS]):
                if stored.status == "spam":
                    # One that is approved in this moment stays.
                    with suppress(Overtaken):
                        left = await comments.deletions.delete(stored, now_ms, SWEEPER)
                        deleted += left is not None
        if deleted:
            words = {"id": str(deleted), "was": "spam", "now": "deleted"}
            await comments.log.add(by="", did="sweep", door="filter", **words)

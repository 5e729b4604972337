"""Deletes what is held and old: spam SPAM_DAYS after it was written; and once comments have almost
filled COMMENT_LIMIT, spam and pending comments HELD_DAYS after that.

A comment just marked as spam may be as old, and the mark may be undone. So a comment is noted
first, and deleted a day later if it is still held.
"""

from contextlib import suppress

from ..noun import Comments
from ..store.deletions import SWEEPER
from ..store.moderation import Overtaken
from ..store.site_index import HELD, Held

DAY_MS = 86_400_000
HOUR_MS = 3_600_000
# Comments of a step, and of an hour.
STEP_COMMENTS = 200
MAX_SWEPT = 20_000


class HeldSweep:
    def __init__(self, comments: Comments) -> None:
        self._comments = comments
        self._due_ms = 0

    async def step(self) -> None:
        """Runs hourly; several services may run it at once. Raises StoreUnavailable."""
        now_ms = self._comments.process.clock()
        if abs(now_ms - self._due_ms) < HOUR_MS:
            return
        self._due_ms = now_ms
        for status in HELD:
            if days := self._days(status):
                await self._sweep(status, now_ms - days * DAY_MS, now_ms)

    def _days(self, status: Held) -> int:
        """After how many it is deleted; 0 for never."""
        rules, room = self._comments.rules, self._comments.room
        days = [rules.spam_days if status == "spam" else 0]
        days += [rules.held_days if room.is_almost_full else 0]
        return min(filter(None, days), default=0)

    async def _sweep(self, status: Held, before_ms: int, now_ms: int) -> None:
        comments, index = self._comments, self._comments.index
        noted = dict[str, int]()
        for first in range(0, MAX_SWEPT, STEP_COMMENTS):
            some = await index.note_held(status, before_ms, now_ms, first, STEP_COMMENTS)
            noted |= some
            if len(some) < STEP_COMMENTS:
                # If it is no longer held, a later mark starts again.
                await index.forget_noted_but(status, noted)
                break
        # After the walk, whose positions a deletion would shift.
        due = [id for id, since_ms in noted.items() if since_ms <= now_ms - DAY_MS]
        deleted = 0
        for first in range(0, len(due), STEP_COMMENTS):
            for stored in await comments.store.by_ids(due[first : first + STEP_COMMENTS]):
                if stored.status == status:
                    # One that is approved in this moment stays.
                    with suppress(Overtaken):
                        left = await comments.deletions.delete(stored, now_ms, SWEEPER)
                        deleted += left is not None
        if deleted:
            words = {"id": str(deleted), "was": status, "now": "deleted"}
            await comments.log.add(by="", did="sweep", door="filter", **words)

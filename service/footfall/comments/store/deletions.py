"""Deleting, restoring and removing comments.

A deleted comment has a status that hides it from everybody. Its replies follow in steps, in either
direction: `sweep` brings a page to the state that its deleted comments require, however often that
was started before. Nothing is removed before the time for an undo has passed, and the days in the
bin (bin.py).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...driver.replies import scored
from ...driver.scripts import Script, Scripts
from ...ids import SHORT, created_ms, split
from ...model import Body, StoredComment
from . import codec
from .deleted import MAX_HEADS, STEP_BYTES, Deleted
from .journal import Journal
from .moderation import Actor, Overtaken
from .projections import UNDO_MS
from .status import status_of

# Of a step that hides or shows replies.
STEP_REPLIES = 100
# A pause between steps, so that requests do not wait for them.
PACE_SECONDS = 0.005
# Pages that are looked at together.
MAX_PAGES = 20
# No other process sweeps a page for this long after one has started.
LEASE_MS = 30_000

CHANGED = (
    "version",
    "bodies",
    "newest",
    "liked",
    "pinned",
    "replies",
    "held",
    "heldroots",
    "heldliked",
    "heldreplies",
    "mine",
    "nested",
    "hidden",
    "deleted",
    "gone",
    "decided",
)
REMOVED = (
    "bodies",
    "private",
    "likes",
    "held",
    "nested",
    "fingerprints",
    "deleted",
    "gone",
    "decided",
)
# Continues what another process has started.
SWEEPER = Actor("sweeper")
DAY_MS = 86_400_000


class Deletions:
    def __init__(
        self, redis: RedisClient, scripts: Scripts, keys: Keys, journal: Journal, bin_days: int = 0
    ) -> None:
        # How long deleted comments are stored.
        self.kept_ms = max(bin_days * DAY_MS, UNDO_MS)
        self._redis = redis
        self._keys = keys
        self._deleted = Deleted(redis, keys)
        self._journal = journal
        self._delete = scripts["comments/delete"]
        self._restore = scripts["comments/restore"]
        self._remove = scripts["comments/remove"]
        self._swept = scripts["journal/swept"]

    async def delete(self, stored: StoredComment, now_ms: int, actor: Actor) -> int | None:
        """Delete a comment with its replies, immediately for readers, if it is what was read, text
        and status; the number of replies to process after the request. None if it was deleted
        before, or does not exist. Raises Overtaken."""
        left = await self._hide(stored.id, stored.body, now_ms, actor, only=stored.status)
        if left and codec.root_of(stored.body):
            # A root hides its replies. Replies to a reply are shown until their own turn.
            await self._go_on(self._hide, stored.id, now_ms)
            return 0
        return left

    async def restore(
        self, id: str, now_ms: int, actor: Actor, only: str = "deleted"
    ) -> int | None:
        """Restore a deleted comment that fits `only` (lua/includes/gate.lua); how many replies are
        to follow after the request. None if it was not deleted by itself, is gone, or has lost its
        root. Raises Overtaken."""
        for replies in await self._deleted.stored(id[SHORT:], [id[:SHORT]]):
            return await self._show(id, replies.body, now_ms, actor, only=only)
        return None

    async def is_undoable(self, id: str, now_ms: int) -> bool:
        """Was it deleted, by itself or with another one, within UNDO_MS?"""
        short, page = split(id)
        (held,) = await self._redis.ask_masters(("HGET", self._keys.page(page, "held"), short))
        if status_of(held) != "deleted":
            return False
        stored = await self._deleted.stored(page, [short])
        above = [f(each.body)[:SHORT] for each in stored for f in (codec.root_of, codec.parent_of)]
        heads = (short, *filter(None, above))
        deleted = self._keys.page(page, "deleted")
        (times,) = await self._redis.ask_masters(("ZMSCORE", deleted, *heads))
        return any(at is not None and float(at) > now_ms - UNDO_MS for at in times)

    async def sweep_due(self, now_ms: int) -> None:
        """Sweep the pages that are due; during a restore (undo.py), nothing is removed. Raises
        StoreUnavailable."""
        removals, totals = self._keys.site("removals"), self._keys.site("totals")
        due = ("ZRANGE", removals, "-inf", now_ms, "BYSCORE", "LIMIT", 0, MAX_PAGES)
        pages, held_back = await self._redis.ask_masters(due, ("GET", self._keys.held_back))
        until_ms = 0 if held_back else now_ms - self.kept_ms
        for page in map(bytes.decode, pages):
            outcome, _ = await self._redis.change(
                ("HGET", totals, page), ("ZADD", removals, "XX", now_ms + LEASE_MS, page)
            )
            next_ms = await self.sweep(page, now_ms, until_ms)
            keys = {"totals": totals, "removals": removals}
            await self._swept(**keys, page=page, known=outcome or b"", due=next_ms)

    async def sweep(self, page: str, now_ms: int, until_ms: int) -> int:
        """Continue the deletions of a page, and remove comments that were deleted before then; the
        time of the next removal, ms since the epoch, 0 for none. Raises StoreUnavailable."""
        async for head in self._deleted.restored(page):
            await self._go_on(self._show, head + page, now_ms)
        async for head in self._deleted.half_hidden(page):
            await self._go_on(self._hide, head + page, now_ms)
        deleted = self._keys.page(page, "deleted")
        outdated = ("ZRANGE", deleted, "-inf", until_ms, "BYSCORE", "LIMIT", 0, MAX_HEADS)
        (heads,) = await self._redis.ask_masters(outdated)
        for head in map(bytes.decode, heads):
            await self._remove_all(page, head, until_ms)
        if until_ms:
            await self._remove_orphans(page, until_ms)
        (left,) = await self._redis.ask_masters(("ZRANGE", deleted, 0, 0, "WITHSCORES"))
        return next((round(at) + self.kept_ms for _, at in scored(left)), 0)

    async def remove(self, id: str, now_ms: int) -> int:
        """Remove a deleted comment with the replies deleted with it, without waiting; their
        number."""
        short, page = split(id)
        await self._go_on(self._hide, id, now_ms)
        return await self._remove_all(page, short, now_ms)

    async def erase(self, is_theirs: Callable[[StoredComment], bool], now_ms: int) -> int:
        """Remove an author's deleted comments, without waiting; their number."""
        erased = 0
        (pages,) = await self._redis.ask_masters(("ZRANGE", self._keys.site("removals"), 0, -1))
        for page in map(bytes.decode, pages):
            async for head, stored in self._deleted.every(page):
                theirs = [comment.id[:SHORT] for comment in stored if is_theirs(comment)]
                if head in theirs:
                    await self.remove(head + page, now_ms)
                elif theirs:
                    await self._remove_some(page, head, now_ms, theirs)
                erased += len(theirs)
        return erased

    # One step, and all of them.

    async def _hide(
        self, id: str, body: Body, now_ms: int, actor: Actor, *, only: str = ""
    ) -> int | None:
        more = {"seen": codec.joined(body) if only else b""}
        return await self._step(self._delete, more, id, body, now_ms, actor, only)

    async def _show(
        self, id: str, body: Body, now_ms: int, actor: Actor, *, only: str = ""
    ) -> int | None:
        short, page = split(id)
        more = {"at": created_ms(id), "likes": self._keys.page(page, "likes"), "seen": b""}
        return await self._step(self._restore, more, id, body, now_ms, actor, only)

    async def _step(
        self,
        script: Script,
        more: Mapping[str, object],
        id: str,
        body: Body,
        now_ms: int,
        actor: Actor,
        only: str,
    ) -> int | None:
        """Start if the comment fits `only`; without it, continue. Raises Overtaken."""
        short, page = split(id)
        match await self._journal.change(
            script,
            page,
            **{name: self._keys.page(page, name) for name in CHANGED},
            **more,
            id=short,
            root=codec.root_of(body)[:SHORT],
            parent=codec.parent_of(body)[:SHORT],
            begins=bool(only),
            now=now_ms,
            most=STEP_REPLIES,
            bytes=STEP_BYTES,
            only=only,
            by=actor.by,
            actor=actor.words,
        ):
            case [b"OVERTAKEN"]:
                raise Overtaken()
            case [b"OK", _, remaining]:
                return int(remaining)
        return None

    async def _go_on(
        self, step: Callable[..., Awaitable[int | None]], id: str, now_ms: int
    ) -> None:
        """Take step after step, until nothing remains."""
        for replies in await self._deleted.stored(id[SHORT:], [id[:SHORT]]):
            while await step(id, replies.body, now_ms, SWEEPER):
                await asyncio.sleep(PACE_SECONDS)

    async def _remove_all(self, page: str, head: str, until_ms: int) -> int:
        remove, removed = partial(self._remove_some, page, head, until_ms), 0
        while members := await self._deleted.members(page, head):
            step = await remove(members)
            if not step:
                # It was restored meanwhile.
                return removed
            removed += step
            await asyncio.sleep(PACE_SECONDS)
        removed += await remove([head])
        await self._redis.change(("ZREM", self._keys.site("bin"), head + page))
        return removed

    async def _remove_orphans(self, page: str, until_ms: int) -> None:
        """Remove replies that were to be restored with a comment that is removed or damaged by
        now."""
        async for head in self._deleted.restored(page):
            if not await self._deleted.stored(page, [head]):
                await self._remove_all(page, head, until_ms)

    async def _remove_some(self, page: str, head: str, until_ms: int, shorts: Sequence[str]) -> int:
        """Remove the first of these comments; how many were removed."""
        stored = await self._deleted.stored(page, shorts)
        arguments = [word for comment in stored for word in _described(comment)]
        _, removed = await self._remove(
            **{name: self._keys.page(page, name) for name in REMOVED},
            head=head,
            before=until_ms,
            # What has no body is damaged, and goes all the same.
            comments=arguments or [word for short in shorts for word in (short, "", "")],
        )
        return int(removed)


def _described(stored: StoredComment) -> Iterable[str]:
    """The arguments of the script that removes it."""
    short, parent = stored.id[:SHORT], codec.parent_of(stored.body)[:SHORT]
    try:
        return short, parent, codec.fingerprint(codec.comment(stored))
    except (TypeError, ValueError):
        # It is damaged, and goes all the same.
        return short, parent, ""

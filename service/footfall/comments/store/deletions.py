"""Deleting, restoring and removing comments.

A deleted comment has a status that hides it from everybody. Its replies follow in steps, in either
direction: `sweep` brings a page to the state that its deleted comments require, however often that
was started before. Nothing is removed before the time for an undo has passed.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate, takewhile

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...driver.replies import scored
from ...driver.scripts import Script, Scripts
from ...model import Body, StoredComment
from . import codec
from .ids import SHORT, created_ms, split
from .journal import Journal
from .moderation import Actor, Overtaken
from .projections import UNDO_MS
from .status import status_of

# Of a step that hides or shows replies: how many, and bytes of their bodies.
STEP_REPLIES = 100
STEP_BYTES = 1 << 18
# Of a step that removes comments.
STEP_REMOVED = 100
# A pause between steps, so that requests do not wait for them.
PACE_SECONDS = 0.005
# Deleted comments of a page, and pages, that are looked at together.
MAX_HEADS = 100
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


class Deletions:
    def __init__(self, redis: RedisClient, scripts: Scripts, keys: Keys, journal: Journal) -> None:
        self._redis = redis
        self._keys = keys
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
        for replies in await self._stored(id[SHORT:], [id[:SHORT]]):
            return await self._show(id, replies.body, now_ms, actor, only=only)
        return None

    async def is_restorable(self, id: str) -> bool:
        """Is it deleted, by itself or with another one, and still stored?"""
        short, page = split(id)
        (held,) = await self._redis.ask_masters(("HGET", self._keys.page(page, "held"), short))
        return status_of(held) == "deleted"

    async def sweep_due(self, now_ms: int) -> None:
        """Sweep the pages that are due; during a restore (undo.py), nothing is removed. Raises
        StoreUnavailable."""
        removals, totals = self._keys.site("removals"), self._keys.site("totals")
        due = ("ZRANGE", removals, "-inf", now_ms, "BYSCORE", "LIMIT", 0, MAX_PAGES)
        pages, held_back = await self._redis.ask_masters(due, ("GET", self._keys.held_back))
        until_ms = 0 if held_back else now_ms - UNDO_MS
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
        async for head, is_deleted in self._heads(page):
            if not is_deleted:
                await self._go_on(self._show, head + page, now_ms)
        deleted = self._keys.page(page, "deleted")
        (heads,) = await self._redis.ask_masters(
            ("ZRANGE", deleted, 0, MAX_HEADS - 1, "WITHSCORES")
        )
        for short, at in scored(heads):
            head = short.decode()
            await self._go_on(self._hide, head + page, now_ms)
            if at <= until_ms:
                await self._remove_all(page, head, until_ms)
        if until_ms:
            await self._remove_orphans(page, until_ms)
        (left,) = await self._redis.ask_masters(("ZRANGE", deleted, 0, 0, "WITHSCORES"))
        return next((round(at) + UNDO_MS for _, at in scored(left)), 0)

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
            async for head, stored in self._deleted(page):
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
        for replies in await self._stored(id[SHORT:], [id[:SHORT]]):
            while await step(id, replies.body, now_ms, SWEEPER):
                await asyncio.sleep(PACE_SECONDS)

    async def _remove_all(self, page: str, head: str, until_ms: int) -> int:
        remove, removed = partial(self._remove_some, page, head, until_ms), 0
        while members := await self._members(page, head):
            step = await remove(members)
            if not step:
                # It was restored meanwhile.
                return removed
            removed += step
            await asyncio.sleep(PACE_SECONDS)
        return removed + await remove([head])

    async def _remove_orphans(self, page: str, until_ms: int) -> None:
        """Remove replies that were to be restored with a comment that is removed or damaged by
        now."""
        async for head, is_deleted in self._heads(page):
            if not (is_deleted or await self._stored(page, [head])):
                await self._remove_all(page, head, until_ms)

    async def _remove_some(self, page: str, head: str, until_ms: int, shorts: Sequence[str]) -> int:
        """Remove the first of these comments; how many were removed."""
        stored = await self._stored(page, shorts)
        arguments = [word for comment in stored for word in _described(comment)]
        _, removed = await self._remove(
            **{name: self._keys.page(page, name) for name in REMOVED},
            head=head,
            before=until_ms,
            # What has no body is damaged, and goes all the same.
            comments=arguments or [word for short in shorts for word in (short, "", "")],
        )
        return int(removed)

    # What a page has.

    async def _fitting(self, page: str, shorts: Sequence[str]) -> Sequence[str]:
        """The first of these comments, as many as have STEP_BYTES together, and one at least."""
        bodies = self._keys.page(page, "bodies")
        lengths = await self._redis.ask_masters(*(("HSTRLEN", bodies, short) for short in shorts))
        sums = zip(shorts, accumulate(lengths, initial=0), strict=False)
        return [comment for comment, _ in takewhile(lambda pair: pair[1] < STEP_BYTES, sums)]

    async def _stored(self, page: str, shorts: Sequence[str]) -> list[StoredComment]:
        """As many of the first of these comments as fit into a step, deleted or not."""
        bodies, private = (self._keys.page(page, name) for name in ("bodies", "private"))
        first = await self._fitting(page, shorts)
        halves = await self._redis.ask_masters(
            *(
                (command, key, each)
                for each in first
                for command, key in (("HGET", bodies), ("HGET", private))
            )
        )
        return [
            StoredComment(each + page, "", codec.parse_body(body), private=secrets or b"")
            for each, body, secrets in zip(first, halves[::2], halves[1::2], strict=True)
            if body is not None
        ]

    async def _members(self, page: str, head: str, after: str = "") -> list[str]:
        """The next of those that were deleted with a comment, after one of them."""
        (reply,) = await self._redis.ask_masters(
            (
                "ZRANGE",
                self._keys.page(page, "gone"),
                f"({head}:{after}",
                f"({head};",
                "BYLEX",
                "LIMIT",
                0,
                STEP_REMOVED,
            )
        )
        return [member.decode().partition(":")[2] for member in reply]

    async def _deleted(self, page: str) -> AsyncIterator[tuple[str, list[StoredComment]]]:
        """Every deleted comment of a page, in steps, each with the one it was deleted with, which
        comes first."""
        (heads,) = await self._redis.ask_masters(
            ("ZRANGE", self._keys.page(page, "deleted"), 0, -1)
        )
        for head in map(bytes.decode, heads):
            yield head, await self._stored(page, [head])
            last = ""
            while members := await self._members(page, head, last):
                part = await self._fitting(page, members)
                yield head, await self._stored(page, part)
                last = part[-1]

    async def _heads(self, page: str) -> AsyncIterator[tuple[str, bool]]:
        """The comments with which others went, and whether they are deleted still."""
        gone, deleted, last = self._keys.page(page, "gone"), self._keys.page(page, "deleted"), "-"
        while True:
            next_one = ("ZRANGE", gone, last, "+", "BYLEX", "LIMIT", 0, 1)
            (reply,) = await self._redis.ask_masters(next_one)
            if not reply:
                return
            head = reply[0].decode().partition(":")[0]
            (at,) = await self._redis.ask_masters(("ZSCORE", deleted, head))
            yield head, at is not None
            last = f"({head};"


def _described(stored: StoredComment) -> Iterable[str]:
    """The arguments of the script that removes it."""
    short, parent = stored.id[:SHORT], codec.parent_of(stored.body)[:SHORT]
    try:
        return short, parent, codec.fingerprint(codec.comment(stored))
    except (TypeError, ValueError):
        # It is damaged, and goes all the same.
        return short, parent, ""

"""Moderation of many comments at once, and its undo, for a minute.

A record holds each comment's former status and pin, and the former text of an edited one. The undo
skips what was changed since by someone else.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import orjson

from ...driver.keys import digest
from ...errors import StoreUnavailable, Unavailable
from ...model import Caller, Comment, Status, StoredComment
from ...site import Comments
from ..store import codec
from ..store.ids import SHORT, is_id
from ..store.moderation import Overtaken
from .moderation import Edit, actor_of, edited, html_of

# Concurrent pages; the others of a request wait.
MAX_AT_ONCE = 16

# `failed`: Redis did not answer, so it may be done or not; `changed`: by someone else since.
Result = Literal["done", "unchanged", "missing", "changed", "failed"]


# Comment -> the status that the moderator saw; missing ones may have any.
Seen = Mapping[str, Status]
ANY: Seen = MappingProxyType({})


class BulkResult(NamedTuple):
    """What became of each comment, and the name of the record by which to put it back; "" for
    none."""

    results: dict[str, Result]
    undo: str = ""


@dataclass(slots=True)
class _Work:
    comments: Comments
    caller: Caller
    record: list[Any] = field(default_factory=list)

    async def each(
        self, ids: Sequence[str], one: Callable[[str], Awaitable[Result]]
    ) -> dict[str, Result]:
        """The results of comments; those of one page one after the other, in their order."""
        room = asyncio.Semaphore(MAX_AT_ONCE)
        pages, results = dict[str, list[str]](), dict[str, Result]()
        for id in ids:
            pages.setdefault(id[SHORT:], []).append(id)

        async def of_page(ids: Sequence[str]) -> None:
            async with room:
                for id in ids:
                    try:
                        results[id] = await one(id)
                    except Unavailable:
                        results[id] = "failed"

        await asyncio.gather(*map(of_page, pages.values()))
        return {id: results[id] for id in ids}

    async def moderate(
        self,
        stored: StoredComment,
        status: Status | None,
        is_pinned: bool | None,
        only: Status | None = None,
    ) -> Result:
        if codec.root_of(stored.body):
            is_pinned = None
        if status in (None, stored.status) and is_pinned in (None, stored.is_pinned):
            return "unchanged"
        if only and stored.status != only:
            return "changed"
        comments = self.comments
        try:
            done = await comments.moderation.moderate(
                stored,
                status,
                comments.process.clock(),
                actor_of(self.caller),
                is_pinned=is_pinned,
                only=only,
            )
        except Overtaken:
            return "changed"
        if done is None or not done.changed:
            return "unchanged" if done else "missing"
        pin = stored.is_pinned if is_pinned is None else is_pinned
        self.keep(stored, [done.was, stored.is_pinned], [status or done.was, pin])
        return "done"

    async def delete(self, stored: StoredComment, only: Status | None = None) -> Result:
        if only and stored.status != only:
            return "changed"
        comments, actor = self.comments, actor_of(self.caller)
        if await comments.deletions.delete(stored, comments.process.clock(), actor) is None:
            return "missing"
        self.keep(stored, [stored.status, stored.is_pinned], ["deleted", False])
        return "done"

    async def edit(self, stored: StoredComment, wanted: Edit) -> Result:
        before = codec.comment(stored)
        html = await html_of(self.comments, before, wanted.text, self.caller)
        after = edited(self.comments.display, before, wanted, html)
        if after == before:
            return "unchanged"
        result = await self.put_words(stored, after)
        if result == "done":
            private = stored.private or b""
            halves = {"body": codec.joined(stored.body).decode(), "private": private.decode()}
            self.keep(stored, [], [], words=_digest(after), **halves)
        return result

    async def put_words(self, stored: StoredComment, after: Comment) -> Result:
        comments = self.comments
        try:
            done = await comments.moderation.moderate(
                stored, None, comments.process.clock(), actor_of(self.caller), after=after
            )
        except Overtaken:
            return "changed"
        return "done" if done else "missing"

    def keep(self, stored: StoredComment, was: list[Any], now: list[Any], **words: str) -> None:
        self.record.append({"id": stored.id, "was": was, "now": now, **words})

    async def outcome(self, results: dict[str, Result]) -> BulkResult:
        if not self.record:
            return BulkResult(results)
        try:
            name = await self.comments.undo_records.keep(orjson.dumps(self.record))
        except StoreUnavailable:
            name = ""
        return BulkResult(results, name)


async def moderate(
    comments: Comments,
    ids: Sequence[str],
    caller: Caller,
    *,
    status: Status | None,
    is_pinned: bool | None = None,
    seen: Seen = ANY,
) -> BulkResult:
    """Those that still have the status that they were seen with."""
    work, chosen = _Work(comments, caller), [id for id in dict.fromkeys(ids) if is_id(id)]
    shown = await comments.store.by_ids(chosen) if chosen else []
    by_id = {comment.id: comment for comment in shown}
    results = await work.each(
        list(by_id), lambda id: work.moderate(by_id[id], status, is_pinned, seen.get(id))
    )
    return await work.outcome(dict.fromkeys(ids, _missing()) | results)


async def delete(
    comments: Comments, ids: Sequence[str], caller: Caller, seen: Seen = ANY
) -> BulkResult:
    """Each with its replies, if it still has the status that it was seen with."""
    work, chosen = _Work(comments, caller), [id for id in dict.fromkeys(ids) if is_id(id)]
    by_id = {comment.id: comment for comment in await comments.moderation.whole(chosen)}
    # The newest first, so that each is deleted by itself, not together with its parent.
    results = await work.each(
        sorted(by_id, reverse=True), lambda id: work.delete(by_id[id], seen.get(id))
    )
    return await work.outcome(dict.fromkeys(ids, _missing()) | results)


async def edit(comments: Comments, id: str, wanted: Edit, caller: Caller) -> BulkResult:
    """Give a comment another text, or another author without account, so that it can be undone."""
    work = _Work(comments, caller)
    stored = await comments.moderation.whole([id]) if is_id(id) else []
    whole = {comment.id: comment for comment in stored}
    results = await work.each(list(whole), lambda id: work.edit(whole[id], wanted))
    return await work.outcome({id: _missing()} | results)


async def undo(comments: Comments, name: str, caller: Caller) -> BulkResult | None:
    """Restore what a record has; None if it is missing or expired. Raises NotOver.

    If some of it failed, the record stays, and the result has its name: a retry skips what was
    restored.
    """
    kept = await comments.undo_records.claim(name) if name.isalnum() else None
    if kept is None:
        return None
    work, record = _Work(comments, caller), {entry["id"]: entry for entry in orjson.loads(kept)}
    # The oldest first, since a reply needs its root.
    results = await work.each(sorted(record), lambda id: _put_back(work, record[id]))
    is_whole = "failed" not in results.values()
    # After a lost reply, a retry claims it a moment later and finds nothing left to do.
    with suppress(StoreUnavailable):
        await (
            comments.undo_records.remove(name) if is_whole else comments.undo_records.release(name)
        )
    return BulkResult(results, "" if is_whole else name)


def comments_of(record: bytes) -> list[StoredComment]:
    """The comments whose texts a record would restore."""
    return [_whole_of(entry) for entry in orjson.loads(record) if "body" in entry]


def _digest(comment: Comment) -> str:
    """Tells whether someone else has edited the text since."""
    return digest(codec.body(comment).decode(), codec.secrets(comment).decode())


def _missing() -> Result:
    return "missing"


def _whole_of(kept: Mapping[str, Any]) -> StoredComment:
    body = codec.parse_body(kept["body"].encode())
    return StoredComment(kept["id"], "", body, private=kept["private"].encode())


async def _put_back(work: _Work, kept: Mapping[str, Any]) -> Result:
    comments, id = work.comments, kept["id"]
    if kept["now"] == ["deleted", False]:
        left = await comments.deletions.restore(id, comments.process.clock(), actor_of(work.caller))
        if left is not None:
            return "done"
        # Somebody else may have put it back.
        return "unchanged" if await comments.store.by_ids([id]) else "missing"
    there = await comments.moderation.whole([id])
    if not there:
        return "missing"
    (stored,) = there
    if "body" in kept:
        if _digest(codec.comment(stored)) != kept["words"]:
            return "changed"
        return await work.put_words(stored, codec.comment(_whole_of(kept)))
    if [stored.status, stored.is_pinned] != kept["now"]:
        return "changed"
    status, is_pinned = kept["was"]
    return await work.moderate(stored, status, is_pinned, only=stored.status)

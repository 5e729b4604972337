"""Moderating many comments at once, and putting back what was done, for a minute.

A record holds each comment as it was: its status and pin, or all of it where it was deleted.
Putting back leaves alone what somebody else has changed since.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import orjson

from ..errors import NoSuchParent, StoreUnavailable, Unavailable
from ..model import Caller, Shown, Status
from ..store.codec import fingerprint, parse_body, root_of
from ..store.comments import AlreadyPublished, IdTaken
from ..store.ids import is_id
from ..store.moderation import Whole
from .announcements import announce, announce_as_it_is
from .moderation import logged, take_away
from .rules import require_administrator
from .service import Service

# At the same time; the others of one request wait.
MAX_AT_ONCE = 16

# `failed`: Redis did not answer, so it may be done or not; `changed`: by somebody else since.
Result = Literal["done", "unchanged", "missing", "changed", "failed"]


class Outcome(NamedTuple):
    """What became of each comment, and the name of the record by which to put it back; "" for
    none."""

    results: dict[str, Result]
    undo: str = ""


@dataclass(slots=True)
class _Work:
    service: Service
    caller: Caller
    record: list[Any] = field(default_factory=list)

    async def each(
        self, ids: Sequence[str], one: Callable[[str], Awaitable[Result]]
    ) -> dict[str, Result]:
        room = asyncio.Semaphore(MAX_AT_ONCE)

        async def result(id: str) -> Result:
            async with room:
                try:
                    return await one(id)
                except Unavailable:
                    return "failed"

        return dict(zip(ids, await asyncio.gather(*map(result, ids)), strict=True))

    async def moderate(self, shown: Shown, status: Status | None, is_pinned: bool | None) -> Result:
        if root_of(shown.body):
            is_pinned = None
        if status in (None, shown.status) and is_pinned in (None, shown.is_pinned):
            return "unchanged"
        service = self.service
        try:
            change = await service.moderation.moderate(
                shown, status, service.clock(), is_pinned=is_pinned
            )
        except StoreUnavailable:
            announce_as_it_is(service, shown, status or shown.status)
            raise
        if change is None:
            return "missing"
        await announce(service, logged(change, self.caller, shown, is_pinned))
        pin = shown.is_pinned if is_pinned is None else is_pinned
        was = {"status": change.was, "pinned": shown.is_pinned}
        now = {"status": change.status, "pinned": pin}
        self.record.append({"id": shown.id, "was": was, "now": now})
        return "done"

    async def delete(self, id: str) -> Result:
        found = await self.service.moderation.whole([id])
        if not found:
            return "missing"
        gone = await take_away(self.service, found[0], self.caller)
        self.record += map(_kept, gone)
        return "done" if gone else "missing"

    async def outcome(self, results: dict[str, Result]) -> Outcome:
        if not self.record:
            return Outcome(results)
        try:
            name = await self.service.undo_records.keep(orjson.dumps(self.record))
        except StoreUnavailable:
            name = ""
        return Outcome(results, name)


async def moderate_many(
    service: Service, ids: Sequence[str], caller: Caller, *, status: Status | None,
    is_pinned: bool | None,
) -> Outcome:  # fmt: skip
    """Raises Unauthorized and Forbidden."""
    require_administrator(caller.viewer)
    work, known = _Work(service, caller), [id for id in dict.fromkeys(ids) if is_id(id)]
    shown = await service.comments.by_ids(known) if known else []
    found = {each.id: each for each in shown}
    results = await work.each(list(found), lambda id: work.moderate(found[id], status, is_pinned))
    return await work.outcome(dict.fromkeys(ids, _missing()) | results)


async def delete_many(service: Service, ids: Sequence[str], caller: Caller) -> Outcome:
    """Each with its replies. Raises Unauthorized and Forbidden."""
    require_administrator(caller.viewer)
    work, known = _Work(service, caller), [id for id in dict.fromkeys(ids) if is_id(id)]
    results = await work.each(known, work.delete)
    # One that went with another on the list has gone, too.
    gone = {each["id"] for each in work.record}
    results |= {id: "done" for id in known if id in gone}
    return await work.outcome(dict.fromkeys(ids, _missing()) | results)


async def undo(service: Service, name: str, caller: Caller) -> Outcome | None:
    """Put back what a record holds; None if there is none, or no more.

    Raises Unauthorized and Forbidden.
    """
    require_administrator(caller.viewer)
    kept = await service.undo_records.take(name) if name.isalnum() else None
    if kept is None:
        return None
    work, record = _Work(service, caller), {each["id"]: each for each in orjson.loads(kept)}
    deleted = [id for id, each in record.items() if "body" in each]
    results: dict[str, Result] = {}
    # Roots first, since a reply needs its root, and the older one of two that were alike.
    for ids in (
        [id for id in deleted if not _whole_of(record[id]).root],
        [id for id in deleted if _whole_of(record[id]).root],
    ):
        results |= await work.each(sorted(ids), lambda id: _put_back(work, record[id]))
    moved = [id for id in record if id not in results]
    shown = await service.comments.by_ids(moved) if moved else []
    found = {each.id: each for each in shown}
    results |= dict.fromkeys(moved, _missing())
    results |= await work.each(list(found), lambda id: _move_back(work, record[id], found[id]))
    return Outcome(results)


def comments_of(record: bytes) -> list[Whole]:
    """Those that a record would put back."""
    return [_whole_of(each) for each in orjson.loads(record) if "body" in each]


def _missing() -> Result:
    return "missing"


def _kept(gone: Whole) -> dict[str, Any]:
    shown = gone.shown
    return {
        "id": shown.id, "path": shown.path, "body": gone.body.decode(),
        "private": gone.private.decode(), "likes": shown.likes, "status": shown.status,
        "pinned": shown.is_pinned, "compared": gone.is_compared,
        "seen": gone.seen,
    }  # fmt: skip


def _whole_of(kept: Mapping[str, Any]) -> Whole:
    body, likes, status = parse_body(kept["body"].encode()), kept["likes"], kept["status"]
    shown = Shown(kept["id"], kept["path"], body, likes, status, kept["pinned"])
    # A record that an older version has kept does not say.
    seen = kept.get("seen", "")
    return Whole(shown, kept["private"].encode(), kept["compared"], seen)


async def _put_back(work: _Work, kept: Mapping[str, Any]) -> Result:
    """A comment that was deleted; `missing` if its root is."""
    whole, service = _whole_of(kept), work.service
    comment, shown = whole.comment, whole.shown
    # Somebody may have said the same since: then two are alike.
    for print_ in (fingerprint(comment), "") if whole.is_compared else ("",):
        try:
            change = await service.comments.publish(
                comment, shown.status, print_, back=shown, seen=whole.seen
            )
        except AlreadyPublished:
            continue
        except NoSuchParent:
            return "missing"
        except IdTaken:
            return "unchanged"
        except StoreUnavailable:
            announce_as_it_is(service, shown, shown.status)
            raise
        await announce(service, logged(change, work.caller, shown))
        return "done"
    return "changed"


async def _move_back(work: _Work, kept: Mapping[str, Any], shown: Shown) -> Result:
    was, now = kept["was"], kept["now"]
    if (shown.status, shown.is_pinned) != (now["status"], now["pinned"]):
        return "changed"
    return await work.moderate(shown, was["status"], was["pinned"])

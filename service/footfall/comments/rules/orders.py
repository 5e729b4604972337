"""Orders of moderators, carried out on some comments at a time.

Before a step the comments that it is about to change are written down, each with its state
(store/actions.py): without that, nothing happens. A comment changes only if it still is what was
written down, and, where the caller says what they have seen, what that was. The change has the
action's name in the same step, so that whatever becomes of a reply, the next look tells whether it
was made.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar

from ...errors import Unavailable
from ...ids import SHORT, is_id
from ...model import Caller, Comment, Status, StoredComment
from ...render.versions import is_seen
from ..noun import Comments
from ..store import codec
from ..store.moderation import Overtaken
from .moderation import TRIES, Edit, actor_of, edited, html_of

T = TypeVar("T")
# `failed`: Redis did not answer, so it may be done or not; `changed`: by someone else since.
Result = Literal["done", "unchanged", "missing", "changed", "failed"]
Deed = Literal["approved", "waiting", "spam", "deleted", "pinned", "unpinned", "edited"]
# Comment -> its version, or only its status, as the caller has seen it; "" for anything.
Seen = Mapping[str, str]
Steps = AsyncGenerator[dict[str, Result]]

# Concurrent pages; the others of a step wait.
MAX_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Order:
    """What to do: a status or `deleted`, a pin, or an edit; `deed` is its name."""

    status: Status | Literal["deleted"] | None = None
    is_pinned: bool | None = None
    edit: Edit | None = None

    @property
    def deed(self) -> Deed:
        if self.edit:
            return "edited"
        return self.status or ("pinned" if self.is_pinned else "unpinned")


class Work:
    """Carries out an order on comments, as a part of the action of this name; `head` is stored with
    what it writes down first."""

    def __init__(
        self, comments: Comments, order: Order, name: str, head: Mapping[str, Any], caller: Caller
    ) -> None:
        self._comments = comments
        self._order = order
        self._name = name
        self._head = head
        self._caller = caller
        self._actor = actor_of(caller)._replace(action=name)

    async def steps(self, pieces: AsyncGenerator[Seen]) -> Steps:
        async with aclosing(pieces):
            async for seen in pieces:
                if seen:
                    yield await self._step(seen)

    async def _step(self, seen: Seen) -> dict[str, Result]:
        """Raises Unavailable: then nothing was done."""
        results: dict[str, Result] = dict.fromkeys(seen, "missing")
        left, has_failed = [id for id in seen if is_id(id)], False
        for attempt in range(TRIES):
            try:
                todo = await self._todo(left, seen, results, is_again=attempt > 0)
                await self._write(todo)
            except Unavailable:
                if not attempt:
                    raise
                break
            outcomes = await each_of(list(todo), partial(self._one, todo))
            results |= {id: result for id, result in outcomes.items() if result}
            # Those that were overtaken; and once those without a reply, to see what became of them.
            left = [id for id, result in outcomes.items() if result is None]
            if not has_failed:
                failed = [id for id, result in outcomes.items() if result == "failed"]
                has_failed = bool(failed)
                left += failed
            if not left:
                break
        return results | dict.fromkeys(left, _failed())

    async def _todo(
        self, ids: Sequence[str], seen: Seen, results: dict[str, Result], *, is_again: bool
    ) -> dict[str, StoredComment]:
        """The comments that are to be changed; the results of all others are added."""
        todo, moderation = dict[str, StoredComment](), self._comments.moderation
        if is_again:
            decided = await moderation.decisions(ids)
            mine = {id for id, last in decided.items() if last.actor.action == self._name}
            results |= dict.fromkeys(mine, _done())
            ids = [id for id in ids if id not in mine]
        results |= dict.fromkeys(ids, _missing())
        whole = moderation.whole if self._order.edit else self._comments.store.by_ids
        for stored in await whole(ids) if ids else []:
            if not is_seen(stored, seen[stored.id]):
                results[stored.id] = "changed"
            elif self._is_done(stored):
                results[stored.id] = "unchanged"
            else:
                todo[stored.id] = stored
        return todo

    def _is_done(self, stored: StoredComment) -> bool:
        order = self._order
        if order.edit:
            before = codec.comment(stored)
            return self._after(before, order.edit, before.html) == before
        is_pinned = None if codec.root_of(stored.body) else order.is_pinned
        return order.status in (None, stored.status) and is_pinned in (None, stored.is_pinned)

    async def _write(self, todo: Mapping[str, StoredComment]) -> None:
        if todo:
            has_text = self._order.edit is not None
            entries = {id: entry_of(stored, has_text=has_text) for id, stored in todo.items()}
            now_ms = self._comments.process.clock()
            await self._comments.actions.write(self._name, entries, self._head, now_ms)

    async def _one(self, todo: Mapping[str, StoredComment], id: str) -> Result | None:
        """None if it was overtaken. Raises Unavailable."""
        comments, order, stored = self._comments, self._order, todo[id]
        now_ms = comments.process.clock()
        try:
            if order.status == "deleted":
                left = await comments.deletions.delete(stored, now_ms, self._actor)
                return "missing" if left is None else "done"
            after = await self._edited(stored, order.edit) if order.edit else None
            done = await comments.moderation.moderate(
                stored, order.status, now_ms, self._actor, is_pinned=order.is_pinned, after=after
            )
        except Overtaken:
            return None
        return "missing" if done is None else "done" if done.changed else "unchanged"

    async def _edited(self, stored: StoredComment, wanted: Edit) -> Comment:
        before = codec.comment(stored)
        html = await html_of(self._comments, before, wanted.text, self._caller)
        return self._after(before, wanted, html)

    def _after(self, before: Comment, wanted: Edit, html: str) -> Comment:
        return edited(self._comments.display, before, wanted, html, self._caller)


async def each_of(ids: Sequence[str], one: Callable[[str], Awaitable[T]]) -> dict[str, T | Result]:
    """The results of comments; those of one page one after the other, in their order."""
    room = asyncio.Semaphore(MAX_AT_ONCE)
    pages, results = dict[str, list[str]](), dict[str, T | Result]()
    for id in ids:
        pages.setdefault(id[SHORT:], []).append(id)

    async def of_page(ids: Sequence[str]) -> None:
        async with room:
            for id in ids:
                try:
                    results[id] = await one(id)
                except Unavailable:
                    results[id] = _failed()

    first, *others = [*pages.values()] or [[]]
    # Mostly it is one page, which needs no task of its own.
    await (asyncio.gather(*map(of_page, pages.values())) if others else of_page(first))
    return {id: results[id] for id in ids}


def entry_of(stored: StoredComment, *, has_text: bool) -> dict[str, Any]:
    """What is written down of a comment before it changes."""
    entry: dict[str, Any] = {"status": stored.status, "is_pinned": stored.is_pinned}
    if has_text:
        private = (stored.private or b"").decode()
        entry |= {"body": codec.joined(stored.body).decode(), "private": private}
    return entry


def _missing() -> Result:
    return "missing"


def _done() -> Result:
    return "done"


def _failed() -> Result:
    return "failed"

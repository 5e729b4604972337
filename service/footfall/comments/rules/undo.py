"""Restores what an action has changed, by its record; what was changed since stays as it is."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ...driver.replies import ErrorReply
from ...errors import Unavailable
from ...model import Caller, StoredComment
from ..noun import Comments
from ..store import codec
from ..store.moderation import Overtaken
from .moderation import actor_of
from .orders import Deed, Result, Steps, each_of, entry_of
from .page_moves import follow_restored


class Undo:
    """Restores the entries of an action's record, oldest first, since a reply needs its root."""

    def __init__(
        self, comments: Comments, name: str, deed: Deed, entries: Mapping[str, Any], caller: Caller
    ) -> None:
        self._comments = comments
        self._name = name
        self._deed = deed
        self._entries = entries
        self._actor = actor_of(caller)

    async def steps(self, size: int) -> Steps:
        """`size` comments at a time. The record goes once all of them are restored."""
        actions, has_failed, is_whole = self._comments.actions, False, False
        try:
            for ids in self._pieces(size):
                results = await each_of(ids, self._one)
                done = [id for id, result in results.items() if result == "done"]
                await follow_restored(self._comments, done, self._actor.account)
                has_failed = has_failed or "failed" in results.values()
                yield results
            is_whole = not has_failed
        finally:
            # After a lost reply, a retry claims it a moment later and finds nothing left to do.
            with suppress(Unavailable, ErrorReply):
                await (actions.remove(self._name) if is_whole else actions.release(self._name))

    def _pieces(self, size: int) -> Iterable[Sequence[str]]:
        ids = sorted(self._entries)
        return (ids[first : first + size] for first in range(0, len(ids), size))

    async def _one(self, id: str) -> Result:
        """Raises Unavailable."""
        entry, comments = self._entries[id], self._comments
        now_ms, only = comments.process.clock(), f"by {self._name}"
        there = await comments.moderation.whole([id])
        if not there and (moved := await comments.forwards.follow(id)):
            there = await comments.moderation.whole([moved[1]])
        try:
            if self._deed == "deleted":
                left = await comments.deletions.restore(id, now_ms, self._actor, only)
                # Somebody else may have restored it.
                return "done" if left is not None else "unchanged" if there else "missing"
            if not there:
                return "missing"
            after = codec.comment(_whole_of(id, entry)) if "body" in entry else None
            done = await comments.moderation.moderate(
                there[0],
                None if after else entry["status"],
                now_ms,
                self._actor,
                is_pinned=None if after else entry["is_pinned"],
                after=after,
                only=only,
            )
        except Overtaken:
            is_as_before = there and entry_of(there[0], has_text="body" in entry) == entry
            return "unchanged" if is_as_before else "changed"
        return "missing" if done is None else "done" if done.changed else "unchanged"


def comments_of(entries: Iterable[Mapping[str, Any]]) -> list[StoredComment]:
    """The comments whose texts a record would restore."""
    return [_whole_of("", entry) for entry in entries if "body" in entry]


def _whole_of(id: str, entry: Mapping[str, Any]) -> StoredComment:
    body = codec.parse_body(entry["body"].encode())
    return StoredComment(id, "", body, private=entry["private"].encode())

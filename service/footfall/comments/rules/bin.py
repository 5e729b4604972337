"""The bin, for moderators: deleted comments can be restored, or removed now, for BIN_DAYS."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ...ids import is_id
from ...model import Caller, Lookups, Viewer
from ...permissions import account_id
from ..noun import Comments
from ..store.bin import Binned
from ..store.moderation import Overtaken
from . import decisions
from .comments import lookups
from .decisions import Decided
from .moderation import actor_of
from .orders import Result, each_of
from .page_moves import follow_restored


@dataclass(frozen=True, slots=True)
class BinPart:
    """The next part of the bin, which continues after the mark `after`, "" at the end; by `decided`
    each was deleted."""

    rows: Sequence[Binned]
    live: Lookups
    decided: dict[str, Decided]
    total: int
    after: str


def is_mark(text: str) -> bool:
    at, _, id = text.partition("-")
    return at.isascii() and at.isdecimal() and is_id(id)


async def part(comments: Comments, viewer: Viewer, *, size: int, after: str = "") -> BinPart:
    """The next `size` comments, the newest deletions first."""
    total, ids, mark = await comments.bin.listed(after, size)
    rows = await comments.bin.by_ids(ids) if ids else []
    live = await lookups(comments, [row.stored for row in rows], viewer)
    decided = await decisions.of(comments, [row.stored.id for row in rows])
    return BinPart(rows, live, decided, total, mark)


async def restore(comments: Comments, ids: Sequence[str], caller: Caller) -> dict[str, Result]:
    """Restore deleted comments, with the replies that were deleted with them; `missing` are those
    that are removed, or whose thread is deleted."""
    # The oldest first, since a reply needs its root.
    results = await _each(sorted(set(ids)), partial(_restore, comments, caller))
    done = [id for id, result in results.items() if result == "done"]
    await follow_restored(comments, done, account_id(caller))
    return results


async def _restore(comments: Comments, caller: Caller, id: str) -> Result:
    try:
        left = await comments.deletions.restore(id, comments.process.clock(), actor_of(caller))
    except Overtaken:
        return "changed"
    if left is None:
        return "unchanged" if await comments.store.by_ids([id]) else "missing"
    return "done"


async def remove(comments: Comments, ids: Sequence[str], caller: Caller) -> dict[str, Result]:
    """Remove deleted comments for good, with the replies that were deleted with them."""
    return await _each(list(dict.fromkeys(ids)), partial(_remove, comments, caller))


async def _remove(comments: Comments, caller: Caller, id: str) -> Result:
    # What is not in the bin is not touched.
    if not await comments.bin.by_ids([id]):
        return "missing"
    if not await comments.deletions.remove(id, comments.process.clock()):
        return "changed"
    await comments.log.add(
        by=account_id(caller),
        did="remove",
        id=id,
        was="deleted",
        now="",
        door=caller.door,
        action="",
    )
    return "done"


async def _each(ids: Sequence[str], one: Callable[[str], Awaitable[Result]]) -> dict[str, Result]:
    results: dict[str, Result] = dict.fromkeys(ids, "missing")
    return results | await each_of([id for id in ids if is_id(id)], one)

"""A walk over one page, as lines for an archive.

A page is read in one step, unless it is long: then it is read some comments at a time, each of them
complete. Changes of different comments do not depend on each other, except that a reply needs the
comments above it; so once a page has changed during its walk, the comments above replies are read
again with them, and in the end those that were deleted, as they may have been restored.

A comment that is deleted meanwhile may leave replies that were read before. Then the page's last
line marks it as changed, and a restore leaves them out.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from typing import Any

import orjson

from ..comments.store.comments import WalkStep
from ..comments.store.status import status_of
from ..ids import digest
from .archive import LINE_BYTES, MAX_LINE_BYTES, Line, check_row, count_of
from .dataset import DataSet
from .threads import Above, Threads

# COUNT of the steps of a walk; a packed hash is returned as a whole.
WALK_STEP_COMMENTS = 256
# How many comments above replies are remembered, so that they are not read again.
MAX_REMEMBERED_COMMENTS = 10_000

# Called with a sentence for each thing that is left out because it is damaged.
Complain = Callable[[str], None]


class Walk:
    """A walk over one page, in lines."""

    def __init__(self, data: DataSet, page: str, complain: Complain) -> None:
        self._data = data
        self._page = page
        self._complain = complain
        self._version, self._server = 0, b""
        self._cursors, self._wanted = ("0", "0"), list[str]()
        self._has_moved = False
        self._threads = Threads()
        # Comments above replies that were read again, since the page has changed.
        self._brought = set[str]()
        # Deleted comments, and those of them to be read again: they may have been restored.
        self._deleted = set[str]()
        self._again: Iterator[str] | None = None

    async def lines(self) -> AsyncIterator[Line]:
        is_end = False
        while not is_end:
            step = await self._step()
            if not self._server and not self._is_there(step):
                return
            self._follow(step)
            rows = list(_rows(self._page, step, self._deleted, self._complain))
            for each, above in rows:
                self._threads.add(each[0], above)
            self._wanted = self._missing(rows) if self._has_moved else []
            is_end = not (any(self._cursors) or self._wanted)
            is_torn = is_end and not self._has_moved and self._is_torn()
            published = {
                each: id for each, id in step.fingerprints.items() if id not in self._deleted
            }
            line: Line = {"path": step.path, "version": step.version, "fingerprints": {}}
            line["moved"] = self._has_moved or is_torn
            *parts, last = _parts([each for each, _ in rows])
            for part in parts:
                yield {**line, "comments": part, "end": False}
            yield {**line, "comments": last, "fingerprints": published, "end": is_end}

    async def _step(self) -> WalkStep:
        copy = self._data.comments.copy
        return await copy(self._page, *self._cursors, WALK_STEP_COMMENTS, self._wanted)

    def _is_there(self, step: WalkStep) -> bool:
        if not step.path and not step.comments:
            # The page does not exist, although the totals have it.
            return False
        if digest(step.path) != self._page:
            self._complain(f"page {self._page}: its path is {step.path!r}")
            return False
        self._version, self._server = step.version, step.server
        return True

    def _follow(self, step: WalkStep) -> None:
        self._cursors = step.cursor, step.echo
        self._has_moved |= step.version != self._version
        if step.server != self._server:
            # A cursor is valid only on the server that returned it, until that restarts.
            self._server, self._cursors, self._has_moved = step.server, ("0", "0"), True

    def _missing(self, rows: list[tuple[list[Any], Above]]) -> list[str]:
        """The short ids of comments above these that are not among them, and were not read before;
        and in the end those that were deleted."""
        above = {id for _, ids in rows for id in ids}
        missing = above - {row[0] for row, _ in rows} - self._brought
        if len(self._brought) > MAX_REMEMBERED_COMMENTS:
            self._brought.clear()
        self._brought |= missing
        if any(self._cursors):
            return sorted(missing)
        if self._again is None:
            self._again = iter(sorted(self._deleted))
        return [*sorted(missing), *islice(self._again, WALK_STEP_COMMENTS)]

    def _is_torn(self) -> bool:
        """Are there invisible replies, although nothing has changed? A restore leaves them out."""
        strays = list(self._threads.strays())
        for id, _, why in strays:
            self._complain(f"page {self._page}: comment {id!r}: {why}")
        return bool(strays)


def _parts(rows: list[list[Any]]) -> Iterator[list[list[Any]]]:
    """Rows in parts that make a line each; only the last may be empty."""
    part, size = list[list[Any]](), 0
    for row in rows:
        part.append(row)
        size += len(row[1]) + len(row[2])
        if size > LINE_BYTES:
            yield part
            part, size = [], 0
    yield part


def _rows(
    page: str, step: WalkStep, deleted: set[str], complain: Complain
) -> Iterator[tuple[list[Any], Above]]:
    """The comments of a step; `deleted` gets those that are left out, as they are removed soon."""
    for comment in step.comments:
        id = comment[0].decode(errors="replace")
        if status_of(comment[4]) == "deleted":
            deleted.add(id)
            continue
        try:
            line, above = row(page, *comment)
        except ValueError as error:
            complain(f"page {page}: comment {comment[0]!r}: {error}")
            continue
        if step.heads.isdisjoint(above):
            deleted.discard(id)
            yield line, above
        else:
            deleted.add(id)


def row(
    page: str, id: bytes, body: bytes, private: bytes, likes: bytes, status: bytes, is_pinned: int
) -> tuple[list[Any], Above]:
    """A comment as it is written into a line, and the comment above it.

    Raises ValueError for one that a restore would reject.
    """
    texts = [part.decode() for part in (id, body, private, status)]
    row = [*texts[:3], count_of(likes), texts[3], bool(is_pinned)]
    above = check_row(page, row)
    # A line also has the path and the page's fingerprints.
    if len(body) > LINE_BYTES and len(orjson.dumps(row)) > MAX_LINE_BYTES - (LINE_BYTES << 1):
        raise ValueError(f"it has {len(body):,} bytes, more than there may be in a line")
    return row, above

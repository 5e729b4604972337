"""Are the keys of a page consistent? They are read some comments at a time.

Compared values are of one moment (moment.py), however many comments come meanwhile; so a difference
means that another program has changed the keys. A repair applies a correction only while the page
has not changed since it was read.

First come the keys that decide which comments are deleted or unpublished, since all else follows
from them: members of `deleted`, `gone`, `held` and `likes`. Then every comment is compared with the
indexes; and last come index entries without a comment, if an index has more than it should.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any

from ..comments.store import codec
from ..comments.store.indexes import HASHES, INDEXES, indexes_of
from ..comments.store.mending import Fix
from ..comments.store.status import status_in, status_of
from ..ids import digest
from .archive import check_row, count_of
from .backup import walked_hash
from .check_comments import KnownBodies, entries_of, has_news, orphaned, rootless_of, wrong
from .check_entries import strays
from .check_journals import followed_of
from .dataset import DataSet
from .findings import Finding
from .moment import MAX_TRIES, moment_of

# Comments that are read together: their bodies come in one reply.
CHECK_STEP_COMMENTS = 64
UNREADABLE = "the service cannot show it; take the page from a backup"
NAMELESS = "a new comment writes it down again; until then it cannot be backed up"

# Comments as in a backup: id, body, private, likes, value of `held`, is it pinned.
Rows = list[Any]
# The version at which a page was read, and its problems.
Look = tuple[bytes, Sequence[Finding]]


class PageCheck:
    """A check of one page; it `exists` if a comment or a path was found."""

    def __init__(self, data: DataSet, page: str, *, repair: bool) -> None:
        self._data = data
        self._page = page
        self._repair = repair
        self._is_sound = True
        # How many members of each index the comments have.
        self._wanted: Counter[str] = Counter()
        self.exists = False

    async def problems(self, add: Callable[[str, Rows], Awaitable[None]]) -> AsyncIterator[str]:
        """A sentence for each. `add` is called with all comments that are not deleted, some at a
        time, once they were compared. Raises StoreUnavailable."""
        async for text in self._every_problem(add):
            self._is_sound = False
            yield f"page {self._page}: {text}"

    async def _every_problem(
        self, add: Callable[[str, Rows], Awaitable[None]]
    ) -> AsyncIterator[str]:
        async for text in self._settled(self._strings):
            yield text
        async for text in self._strays("deleted", "gone", "held", "likes"):
            yield text
        async for step in self._steps():
            rows = list[Any]()
            for text in _read(self._page, step, rows):
                yield text
            async for text in self._rows(rows):
                yield text
            await add(self._page, rows)
        async for text in self._strays("fingerprints", "private", "decided", *INDEXES):
            yield text
        async for text in self._settled(self._hidden):
            yield text

    async def _steps(self) -> AsyncIterator[Sequence[Sequence[Any]]]:
        """All comments, as they are stored; some may come twice."""
        cursor, server = "0", b""
        while cursor:
            step = await self._data.comments.copy(self._page, cursor, "", CHECK_STEP_COMMENTS, [])
            yield step.comments
            # A cursor is valid only on the server that returned it.
            cursor = step.cursor if server in (b"", step.server) else "0"
            server = step.server

    async def _settled(self, look: Callable[[], Awaitable[Look | None]]) -> AsyncIterator[str]:
        """Check until nothing changes meanwhile: the problems, repaired if requested."""
        for _ in range(MAX_TRIES):
            found = await look()
            if found is None:
                continue
            version, findings = found
            fixes = [fix for finding in findings for fix in finding.fixes] if self._repair else []
            if fixes and not await self._data.mending.mend(self._page, version, fixes):
                continue
            for finding in findings:
                yield finding.text + (" (repaired)" if self._repair and finding.fixes else "")
            return

    # The page itself.

    async def _strings(self) -> Look | None:
        """Path, version and longest body."""
        name = self._name
        (followed,) = await self._data.redis.ask(
            ("HGET", self._data.keys.site("totals"), self._page)
        )
        # The path is written in the step in which the first comment is stored.
        bodies, path, longest, version = await self._data.redis.ask(
            ("HLEN", name("bodies")),
            ("GET", name("path")),
            ("GET", name("longest")),
            ("GET", name("version")),
        )
        if not bodies and path is None:
            return version or b"", []
        self.exists = True
        findings = list(_versioned(version, followed_of(followed)))
        if digest((path or b"").decode(errors="replace")) != self._page:
            findings.append(Finding(f"its path is {path!r}: {NAMELESS}"))
        if longest is not None and not longest.isdigit():
            findings.append(Finding(f"longest is {longest!r}", [Fix("longest", ("DEL",))]))
        return version or b"", findings

    async def _hidden(self) -> Look | None:
        """How many replies below deleted roots are still in the indexes."""
        name = self._name
        before, heads = await self._data.redis.ask(
            ("GET", name("version")), ("ZRANGE", name("deleted"), 0, -1)
        )
        wanted = {
            b"approved": await self._number_below(heads, "replies"),
            b"held": await self._number_below(heads, "heldreplies"),
        }
        (_, pairs), after = await self._data.redis.ask(
            ("HSCAN", name("hidden"), 0), ("GET", name("version"))
        )
        fields = dict(zip(pairs[::2], pairs[1::2], strict=True))
        if before != after:
            return None
        return before or b"", list(_miscounted(fields, wanted))

    async def _number_below(self, heads: Sequence[bytes], index: str) -> int:
        """How many members an index has below these comments."""
        number, key = 0, self._name(index)
        for first in range(0, len(heads), CHECK_STEP_COMMENTS):
            ranges = (
                (b"[%b:" % head, b"(%b;" % head) for head in heads[first:][:CHECK_STEP_COMMENTS]
            )
            number += sum(
                await self._data.redis.ask(*(("ZLEXCOUNT", key, *ends) for ends in ranges))
            )
        return number

    # Comments.

    async def _rows(self, rows: Rows) -> AsyncIterator[str]:
        for each in rows:
            self._wanted.update(_indexes_of(each))
        for first in range(0, len(rows), CHECK_STEP_COMMENTS):
            part = rows[first : first + CHECK_STEP_COMMENTS]
            bodies = {row[0].encode(): row[1].encode() for row in part}
            bare = {row[0].encode() for row in part if not row[2]}
            async for text in self._compared(KnownBodies({**bodies}, bare)):
                yield text

    async def _compared(self, bodies: KnownBodies) -> AsyncIterator[str]:
        """Problems of the positions of some comments, and of replies without a root."""
        rootless = set[tuple[bytes, bytes]]()

        async def look() -> Look | None:
            entries = [entry for item in bodies.bodies.items() for entry in entries_of(*item)]
            moment = await moment_of(self._data, self._page, list(bodies.bodies), entries)
            if moment is None or has_news(bodies, moment):
                return None
            rootless.clear()
            rootless.update(rootless_of(moment))
            return moment.version, list(wrong(moment, bodies.bare))

        async for text in self._settled(look):
            yield text
        for short, root in sorted(rootless):

            async def look_at_root(short: bytes = short, root: bytes = root) -> Look | None:
                moment = await moment_of(self._data, self._page, [root, short])
                if moment is None:
                    return None
                return moment.version, list(orphaned(moment, self._page, short, root))

            async for text in self._settled(look_at_root):
                yield text

    # Entries.

    async def _strays(self, *names: str) -> AsyncIterator[str]:
        for name in await self._filled(*names):
            async for text in self._walked(name):
                yield text

    async def _walked(self, name: str) -> AsyncIterator[str]:
        """Entries of a key without a comment; comments marked as deleted are compared with the
        indexes of deleted ones."""
        scan = "HSCAN" if name in HASHES else "ZSCAN"
        async for pairs in walked_hash(self._data.redis, self._name(name), scan):
            for first in range(0, len(pairs), CHECK_STEP_COMMENTS):
                part = pairs[first : first + CHECK_STEP_COMMENTS]
                async for text in self._settled(strays(self._data, self._page, name, part)):
                    yield text
                gone = [short for short, status in part if status.startswith(b"deleted")]
                if name == "held" and gone:
                    async for text in self._compared(KnownBodies(dict.fromkeys(gone), set())):
                        yield text

    async def _filled(self, *names: str) -> list[str]:
        """Which of these keys may have entries of no comment. If all comments are in their
        places, it is enough to compare lengths."""
        lengths = await self._data.redis.ask(
            *(("HLEN" if name in HASHES else "ZCARD", self._name(name)) for name in names)
        )
        return [
            each
            for each, length in zip(names, lengths, strict=True)
            if length and (not self._is_sound or length != self._wanted[each])
        ]

    def _name(self, what: str) -> str:
        return self._data.keys.page(self._page, what)


def _read(page: str, step: Sequence[Sequence[Any]], rows: Rows) -> Iterator[str]:
    """Put the comments of a step into `rows` that are not deleted; which cannot be read."""
    for each in step:
        if status_of(each[4]) == "deleted":
            continue
        try:
            rows.append(_row(page, each))
        except ValueError as error:
            yield f"comment {each[0]!r}: {error}: {UNREADABLE}"


def _row(page: str, stored: Sequence[Any]) -> list[Any]:
    """Raises ValueError for a comment that a restore would reject."""
    id, body, private, status = (stored[at].decode() for at in (0, 1, 2, 4))
    row = [id, body, private, count_of(stored[3]), status, bool(stored[5])]
    check_row(page, row)
    return row


def _versioned(version: bytes | None, last: int) -> Iterator[Finding]:
    """Problems of a page's version; the site has followed the journal up to the `last`."""
    if version and version.isdigit() and int(version) >= last:
        return
    what = "is missing" if version is None else f"is {version.decode(errors='replace')}"
    if version and version.isdigit():
        what += f", and the site has followed {last}"
    yield Finding(f"version {what}", [Fix("version", ("SET", last))])


def _miscounted(actual: dict[bytes, bytes], wanted: dict[bytes, int]) -> Iterator[Finding]:
    for kind in sorted(actual.keys() | wanted.keys()):
        number = wanted.get(kind, 0)
        if actual.get(kind, b"0") != b"%d" % number:
            command = ("HSET", kind, number) if number else ("HDEL", kind)
            text = f"hidden has {actual.get(kind, b'0')!r} {kind!r} instead of {number}"
            yield Finding(text, [Fix("hidden", command)])


def _indexes_of(row: Sequence[object]) -> Iterator[str]:
    """The indexes in which a comment has a member."""
    id, body, _, likes, status, is_pinned = row
    yield "private"
    places = indexes_of(
        str(id),
        codec.parse_body(str(body).encode()),
        int(str(likes)),
        status_in(str(status)),
        is_pinned=bool(is_pinned),
    )
    yield from (place.name for place in places if place.score is not None)

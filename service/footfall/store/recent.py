"""The newest comments of the site, from any of its pages.

Which they are is the site's to know, and what is in them their pages'. So whoever keeps an answer
made of them asks for both again: the ids, and the versions of the pages that they are on.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from ..driver.client import Connected
from ..driver.keys import Keys
from ..model import Shown, Status, Viewer
from . import codec
from .ids import split

# A few more than wanted are looked at: the index may be a step behind what has been held since.
SPARE = 10
# Bytes of bodies in one answer, as they are stored.
MAX_BYTES = 1 << 20


class Newest(NamedTuple):
    """Ids, newest first; versions of the accounts and of the pages that were asked about."""

    ids: tuple[str, ...]
    versions: tuple[int, ...]


class _Row(NamedTuple):
    """What there is to know of a comment before its body is read."""

    id: str
    bytes: int
    likes: int
    status: Status
    is_pinned: bool
    path: str


class Recent:
    def __init__(self, redis: Connected, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def newest(self, count: int, viewer: Viewer, ids: Sequence[str] = ()) -> Newest:
        """The newest comments that the viewer may see; versions of the pages of `ids`."""
        indexes = [self._keys.site("recent")]
        if viewer.account:
            indexes.append(self._keys.own(viewer.account.id))
        most = count + SPARE
        found = await self._redis.ask(
            *(("ZREVRANGE", index, 0, most - 1) for index in indexes), *self._versions_of(ids)
        )
        parts, versions = found[: len(indexes)], found[len(indexes) :]
        all_ids = sorted((id.decode() for part in parts for id in part), reverse=True)
        return Newest(tuple(all_ids[:most]), _numbers(versions))

    async def read(
        self, ids: Sequence[str], count: int, viewer: Viewer
    ) -> tuple[tuple[int, ...], list[Shown]]:
        """So many of these comments that the viewer may see, and the versions of all their pages.

        Where they are more than MAX_BYTES together, the longest are left out.
        """
        # The versions first: what is read after them may be newer, and is then read once more.
        questions = [*self._versions_of(ids)]
        behind = len(questions)
        for id in ids:
            short, page = split(id)
            questions.append(("HSTRLEN", self._keys.page(page, "bodies"), short))
            questions.append(("HGET", self._keys.page(page, "likes"), short))
            questions.append(("HGET", self._keys.page(page, "held"), short))
            questions.append(("ZSCORE", self._keys.page(page, "pinned"), short))
            questions.append(("GET", self._keys.page(page, "path")))
        found = await self._redis.ask(*questions)
        rows = _rows(ids, found[behind:])
        if viewer.account is None:
            rows = [row for row in rows if row.status == "approved"][:count]
        shown = await self._shown(_fitting(rows, MAX_BYTES))
        own = viewer.account.id if viewer.account else ""
        seen = [
            each
            for each in shown
            if each.status == "approved" or (own and each.body.account == own)
        ]
        return _numbers(found[:behind]), seen[:count]

    async def _shown(self, rows: Sequence[_Row]) -> list[Shown]:
        if not rows:
            return []
        bodies = await self._redis.ask(
            *(
                ("HGET", self._keys.page(page, "bodies"), short)
                for short, page in (split(row.id) for row in rows)
            )
        )
        return [
            Shown(row.id, row.path, codec.parse_body(body), row.likes, row.status, row.is_pinned)
            for row, body in zip(rows, bodies, strict=True)
            if body is not None
        ]

    def _versions_of(self, ids: Sequence[str]) -> list[tuple[str, ...]]:
        pages = dict.fromkeys(split(id)[1] for id in ids)
        keys = [self._keys.accounts_version]
        keys += (self._keys.page(page, "version") for page in pages)
        return [("GET", key) for key in keys]


def _numbers(versions: Sequence[bytes | None]) -> tuple[int, ...]:
    return tuple(int(version or 0) for version in versions)


def _rows(ids: Sequence[str], values: Sequence[Any]) -> list[_Row]:
    """Of the comments that are still there."""
    rows = []
    for id, (length, likes, held, pinned, path) in zip(
        ids, zip(*[iter(values)] * 5, strict=True), strict=True
    ):
        if length:
            status = cast(Status, held.decode()) if held else "approved"
            rows.append(
                _Row(id, length, int(likes or 0), status, pinned is not None, path.decode())
            )
    return rows


def _fitting(rows: Sequence[_Row], room: int) -> list[_Row]:
    """In their order, those that there is room for: the shortest ones, so that whoever writes long
    comments takes the place of nobody else's."""
    fitting = set()
    for row in sorted(rows, key=lambda row: row.bytes):
        room -= row.bytes
        if room < 0:
            break
        fitting.add(row.id)
    return [row for row in rows if row.id in fitting]

"""The newest comments of the site, from any of its pages.

The site's indexes have their ids, their pages have their bodies. So a cached answer is valid while
the ids and the versions of all these pages stay the same.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...ids import split
from ...model import Status, StoredComment, Viewer
from . import codec
from .status import status_of

# Read this many more ids than requested, since some may be unpublished by now.
SPARE_IDS = 10
# Stored bodies in one answer.
MAX_RECENT_BYTES = 1 << 20


class Newest(NamedTuple):
    """Ids, newest first; versions of the pages of the ids that were given."""

    ids: tuple[str, ...]
    versions: tuple[int, ...]


class _Candidate(NamedTuple):
    """A comment without its body; `bytes` is the body's length."""

    id: str
    bytes: int
    likes: int
    status: Status
    is_pinned: bool
    path: str


class Recent:
    def __init__(self, redis: RedisClient, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def newest(self, count: int, viewer: Viewer, ids: Sequence[str] = ()) -> Newest:
        """The newest `count` comments that the viewer may see, and some more; the versions of the
        pages of `ids`."""
        indexes = [self._keys.site("recent")]
        if viewer.account:
            indexes.append(self._keys.own(viewer.account.id))
        most = count + SPARE_IDS
        replies = await self._redis.ask(
            *(("ZREVRANGE", index, 0, most - 1) for index in indexes), *self._versions_of(ids)
        )
        parts, versions = replies[: len(indexes)], replies[len(indexes) :]
        all_ids = sorted((id.decode() for part in parts for id in part), reverse=True)
        return Newest(tuple(all_ids[:most]), _numbers(versions))

    async def versions(self, ids: Sequence[str]) -> tuple[int, ...]:
        """The versions of the pages of these comments."""
        return _numbers(await self._redis.ask(*self._versions_of(ids)))

    async def of_page(self, page: str, count: int, searched: int) -> list[str]:
        """Ids of a page's newest comments: its newest roots, replies to them, and those among the
        site's newest `searched`."""
        roots, pinned, site = await self._redis.ask(
            ("ZREVRANGE", self._keys.page(page, "newest"), 0, count - 1),
            ("ZREVRANGE", self._keys.page(page, "pinned"), 0, count - 1),
            ("ZREVRANGE", self._keys.site("recent"), 0, searched - 1),
        )
        roots += pinned
        replies = await self._redis.ask(
            *(
                (
                    "ZRANGE",
                    self._keys.page(page, "replies"),
                    b"(%b;" % root,
                    b"(%b:" % root,
                    "BYLEX",
                    "REV",
                    "LIMIT",
                    0,
                    count,
                )
                for root in roots
            )
        )
        shorts = {*roots, *(short.partition(b":")[2] for part in replies for short in part)}
        candidates = {short.decode() + page for short in shorts}
        candidates |= {id.decode() for id in site if id.endswith(page.encode())}
        return sorted(candidates, reverse=True)[: count + SPARE_IDS]

    async def near(self, account: str, searched: int) -> list[str]:
        """Ids of those of the site's newest `searched` comments that are on pages on which an
        account wrote."""
        (site,) = await self._redis.ask(("ZREVRANGE", self._keys.site("recent"), 0, searched - 1))
        ids = [id.decode() for id in site]
        pages = list(dict.fromkeys(split(id)[1] for id in ids))
        if not pages:
            return []
        (scores,) = await self._redis.ask(("ZMSCORE", self._keys.pages_of(account), *pages))
        own = {page for page, score in zip(pages, scores, strict=True) if score is not None}
        return [id for id in ids if split(id)[1] in own]

    async def read(
        self, ids: Sequence[str], count: int, viewer: Viewer
    ) -> tuple[tuple[int, ...], list[StoredComment]]:
        """Up to `count` of these comments that the viewer may see; first the versions of the
        accounts and of all their pages.

        If they have more than MAX_RECENT_BYTES together, the longest are left out.
        """
        # The versions are read first: if a comment is newer than its page's version, the next
        # request reads it again.
        questions = [*self._versions_of(ids)]
        behind = len(questions)
        for id in ids:
            short, page = split(id)
            questions.append(("HSTRLEN", self._keys.page(page, "bodies"), short))
            questions.append(("HGET", self._keys.page(page, "likes"), short))
            questions.append(("HGET", self._keys.page(page, "held"), short))
            questions.append(("ZSCORE", self._keys.page(page, "pinned"), short))
            questions.append(("GET", self._keys.page(page, "path")))
        replies = await self._redis.ask(*questions)
        rows = _rows(ids, replies[behind:])
        if viewer.account is None:
            rows = [row for row in rows if row.status == "approved"][:count]
        shown = await self._shown(_fitting(rows, MAX_RECENT_BYTES))
        own = viewer.account.id if viewer.account else ""
        seen = [
            each
            for each in shown
            if each.status == "approved" or (own and each.body.account == own)
        ]
        return _numbers(replies[:behind]), seen[:count]

    async def _shown(self, rows: Sequence[_Candidate]) -> list[StoredComment]:
        if not rows:
            return []
        bodies = await self._redis.ask(
            *(
                ("HGET", self._keys.page(page, "bodies"), short)
                for short, page in (split(row.id) for row in rows)
            )
        )
        return [
            StoredComment(
                row.id, row.path, codec.parse_body(body), row.likes, row.status, row.is_pinned
            )
            for row, body in zip(rows, bodies, strict=True)
            if body is not None
        ]

    def _versions_of(self, ids: Sequence[str]) -> list[tuple[str, ...]]:
        pages = dict.fromkeys(split(id)[1] for id in ids)
        return [("GET", self._keys.page(page, "version")) for page in pages]


def _numbers(versions: Sequence[bytes | None]) -> tuple[int, ...]:
    return tuple(int(version or 0) for version in versions)


def _rows(ids: Sequence[str], values: Sequence[Any]) -> list[_Candidate]:
    """A row for each comment that exists."""
    rows = []
    for id, (length, likes, held, pinned, path) in zip(
        ids, zip(*[iter(values)] * 5, strict=True), strict=True
    ):
        status = status_of(held)
        if length and status != "deleted":
            rows.append(
                _Candidate(id, length, int(likes or 0), status, pinned is not None, path.decode())
            )
    return rows


def _fitting(rows: Sequence[_Candidate], room: int) -> list[_Candidate]:
    """The shortest comments that fit into `room` bytes, in their order: a long comment must not
    displace those of other authors."""
    fitting = set()
    for row in sorted(rows, key=lambda row: row.bytes):
        room -= row.bytes
        if room < 0:
            break
        fitting.add(row.id)
    return [row for row in rows if row.id in fitting]

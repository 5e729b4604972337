"""The bin: comments that were deleted by themselves, until they are removed.

The site's list follows the pages' journals. What a page no longer has in `deleted` was restored or
removed in this moment.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...driver.replies import scored
from ...ids import split
from ...model import StoredComment
from . import codec
from .status import status_in


class Binned(NamedTuple):
    """A deleted comment as it was, when it was deleted, and how many replies went with it."""

    stored: StoredComment
    deleted_ms: int
    replies: int


class Bin:
    """All coroutines raise StoreUnavailable."""

    def __init__(self, redis: RedisClient, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def listed(self, after: str, size: int) -> tuple[int, list[str], str]:
        """The number of all, the ids of the next `size`, newest deletions first, and the mark after
        which the list continues; "" at the end."""
        key, (last, _, last_id) = self._keys.site("bin"), after.partition("-")
        # Deletions of one millisecond have the same score; of these the greatest id comes first.
        last = last or "+inf"
        total, same, older = await self._redis.ask_masters(
            ("ZCARD", key),
            ("ZRANGE", key, last, last, "BYSCORE", "REV", "WITHSCORES"),
            ("ZRANGE", key, f"({last}", "-inf", "BYSCORE", "REV", "LIMIT", 0, size, "WITHSCORES"),
        )
        left = [(id, at) for id, at in scored(same) if id.decode() < last_id]
        entries = [(id.decode(), at) for id, at in (*left, *scored(older))][:size]
        mark = "{1:.0f}-{0}".format(*entries[-1]) if len(entries) == size else ""
        return int(total), [id for id, _ in entries], mark

    async def by_ids(self, ids: Sequence[str]) -> list[Binned]:
        """Comments that were deleted by themselves, in order."""
        halves = [(id, *split(id)) for id in ids]
        name = self._keys.page
        values = await self._redis.ask_masters(
            *(
                question
                for _, short, page in halves
                for question in (
                    ("ZSCORE", name(page, "deleted"), short),
                    ("HGET", name(page, "bodies"), short),
                    ("HGET", name(page, "likes"), short),
                    ("HGET", name(page, "held"), short),
                    ("GET", name(page, "path")),
                    ("ZLEXCOUNT", name(page, "gone"), f"[{short}:", f"({short};"),
                )
            )
        )
        found = list[Binned]()
        rows = zip(*[iter(values)] * 6, strict=True)
        for (id, _, _), (at, body, likes, held, path, replies) in zip(halves, rows, strict=True):
            if at is None or body is None or path is None:
                continue
            former = held.decode().removeprefix("deleted ")
            stored = StoredComment(
                id,
                path.decode(),
                codec.parse_body(body),
                int(likes or 0),
                status_in(former),
                former.endswith(" pinned"),
            )
            found.append(Binned(stored, int(float(at)), int(replies)))
        return found

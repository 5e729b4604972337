"""What pages have of deleted comments: those that were deleted, and those that went with them."""

from collections.abc import AsyncIterator, Sequence
from functools import partial
from itertools import accumulate, count, takewhile

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...model import StoredComment
from . import codec

# Of a step that reads comments: bytes of their bodies.
STEP_BYTES = 1 << 18
# Of a step that removes comments.
STEP_REMOVED = 100
# Deleted comments of a page that are looked at together.
MAX_HEADS = 500


class Deleted:
    """All methods raise StoreUnavailable."""

    def __init__(self, redis: RedisClient, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def _fitting(self, page: str, shorts: Sequence[str]) -> Sequence[str]:
        """The first of these comments, as many as have STEP_BYTES together, and one at least."""
        bodies = self._keys.page(page, "bodies")
        lengths = await self._redis.ask_masters(*(("HSTRLEN", bodies, short) for short in shorts))
        sums = zip(shorts, accumulate(lengths, initial=0), strict=False)
        return [comment for comment, _ in takewhile(lambda pair: pair[1] < STEP_BYTES, sums)]

    async def stored(self, page: str, shorts: Sequence[str]) -> list[StoredComment]:
        """As many of the first of these comments as fit into a step, deleted or not."""
        bodies, private = (self._keys.page(page, name) for name in ("bodies", "private"))
        first = await self._fitting(page, shorts)
        halves = await self._redis.ask_masters(
            *(
                (command, key, each)
                for each in first
                for command, key in (("HGET", bodies), ("HGET", private))
            )
        )
        return [
            StoredComment(each + page, "", codec.parse_body(body), private=secrets or b"")
            for each, body, secrets in zip(first, halves[::2], halves[1::2], strict=True)
            if body is not None
        ]

    async def members(self, page: str, head: str, after: str = "") -> list[str]:
        """The next of those that were deleted with a comment, after one of them."""
        (reply,) = await self._redis.ask_masters(
            (
                "ZRANGE",
                self._keys.page(page, "gone"),
                f"({head}:{after}",
                f"({head};",
                "BYLEX",
                "LIMIT",
                0,
                STEP_REMOVED,
            )
        )
        return [member.decode().partition(":")[2] for member in reply]

    async def every(self, page: str) -> AsyncIterator[tuple[str, list[StoredComment]]]:
        """Every deleted comment of a page, in steps, each with the one it was deleted with, which
        comes first."""
        (heads,) = await self._redis.ask_masters(
            ("ZRANGE", self._keys.page(page, "deleted"), 0, -1)
        )
        for head in map(bytes.decode, heads):
            yield head, await self.stored(page, [head])
            last = ""
            while members := await self.members(page, head, last):
                part = await self._fitting(page, members)
                yield head, await self.stored(page, part)
                last = part[-1]

    async def restored(self, page: str) -> AsyncIterator[str]:
        """The comments with which others are gone, although they are not deleted any longer."""
        gone, deleted, last = self._keys.page(page, "gone"), self._keys.page(page, "deleted"), "-"
        while True:
            (some,) = await self._redis.ask_masters(
                ("ZRANGE", gone, last, "+", "BYLEX", "LIMIT", 0, MAX_HEADS)
            )
            if not some:
                return
            heads = list(dict.fromkeys(each.decode().partition(":")[0] for each in some))
            (times,) = await self._redis.ask_masters(("ZMSCORE", deleted, *heads))
            for head, at in zip(heads, times, strict=True):
                if at is None:
                    yield head
            last = f"({heads[-1]};"

    async def half_hidden(self, page: str) -> AsyncIterator[str]:
        """The deleted comments that have replies in the indexes."""
        name, deleted = partial(self._keys.page, page), self._keys.page(page, "deleted")
        for first in count(0, MAX_HEADS):
            last = first + MAX_HEADS - 1
            (heads,) = await self._redis.ask_masters(("ZRANGE", deleted, first, last))
            if not heads:
                return
            shorts = [head.decode() for head in heads]
            numbers = await self._redis.ask_masters(
                *(
                    ("ZLEXCOUNT", name(index), f"[{short}:", f"({short};")
                    for short in shorts
                    for index in ("replies", "heldreplies", "nested")
                )
            )
            for at, short in enumerate(shorts):
                if any(numbers[3 * at : 3 * at + 3]):
                    yield short

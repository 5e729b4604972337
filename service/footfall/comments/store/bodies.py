"""Comments' bodies as they are stored, for `footfall rerender`."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...driver.scripts import Scripts


class Replacement(NamedTuple):
    """A new body for the comment with this short id, if its body is still `before`."""

    id: str
    before: bytes
    after: bytes


class Bodies:
    def __init__(self, redis: RedisClient, scripts: Scripts, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._replace = scripts["comments/replace"]

    async def number(self, page: str) -> int:
        """How many comments a page has, of any status; `page` is its digest."""
        (number,) = await self._redis.ask(("HLEN", self._keys.page(page, "bodies")))
        return int(number)

    async def replace(self, page: str, changes: Sequence[Replacement], now_ms: int) -> int:
        """Replace bodies that have not changed meanwhile; returns the number replaced.

        It is one script call, so the caller bounds the bytes of `changes`.
        """
        names = ("version", "bodies", "longest")
        done = await self._replace(
            **{name: self._keys.page(page, name) for name in names},
            now=now_ms,
            changes=chain.from_iterable(changes),
        )
        return sum(done)

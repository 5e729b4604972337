"""Comments' bodies as they are stored, for whoever makes them anew."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from ..driver.client import Connected
from ..driver.keys import Keys
from ..driver.scripts import Scripts


class Replacement(NamedTuple):
    """Another body for a comment, by its short id, if it still has the one before."""

    id: str
    before: bytes
    after: bytes


class Bodies:
    def __init__(self, redis: Connected, scripts: Scripts, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._replace = scripts["comments/replace"]

    async def number(self, page: str) -> int:
        """How many comments a page has, of any status; `page` is a digest."""
        (number,) = await self._redis.ask(("HLEN", self._keys.page(page, "bodies")))
        return int(number)

    async def replace(self, page: str, changes: Sequence[Replacement], now_ms: int) -> int:
        """Give comments other bodies, unless they have changed meanwhile; how many it was done for.

        In one step of Redis, so the caller bounds their bytes.
        """
        names = ("version", "bodies", "longest")
        done = await self._replace(
            **{name: self._keys.page(page, name) for name in names},
            now=now_ms,
            changes=chain.from_iterable(changes),
        )
        return sum(done)

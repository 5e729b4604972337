"""Pages closed to new comments: one hash of the site, path -> days after the page's first comment.

0 closes a page now, OPEN keeps it open. The rule of EVERY_PAGE, which is not a path, is for pages
without one of their own.
"""

from collections.abc import Sequence

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...errors import TooManyClosings

EVERY_PAGE = ""
OPEN = -1
MAX_DAYS = 36_500
MAX_CLOSINGS = 1000


def days_of(value: bytes | str | None) -> int | None:
    """None for an invalid rule."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else value or ""
    if text == str(OPEN) or (text.isdecimal() and len(text) <= len(str(MAX_DAYS))):
        return int(text)
    return None


def is_rule(value: bytes | str) -> bool:
    return days_of(value) is not None


def rule_of(values: Sequence[bytes | None]) -> int | None:
    """A page's rule, from the values of Closings.question."""
    own, every = map(days_of, values)
    return every if own is None else own


class Closings:
    """All methods raise StoreUnavailable."""

    def __init__(self, redis: RedisClient, keys: Keys) -> None:
        self._redis = redis
        self._key = keys.site("closed")

    def question(self, path: str) -> tuple[str, ...]:
        return "HMGET", self._key, path, EVERY_PAGE

    async def get(self, path: str) -> int | None:
        """The rule of this page alone."""
        (value,) = await self._redis.ask_masters(("HGET", self._key, path))
        return days_of(value)

    async def every(self) -> dict[str, int]:
        rules, cursor = dict[str, int](), b""
        while cursor != b"0":
            command = ("HSCAN", self._key, cursor or b"0", "COUNT", MAX_CLOSINGS)
            ((cursor, pairs),) = await self._redis.ask_masters(command)
            for path, value in zip(pairs[::2], pairs[1::2], strict=True):
                if (days := days_of(value)) is not None:
                    rules[path.decode(errors="replace")] = days
        return rules

    async def set(self, path: str, days: int) -> None:
        """Raises TooManyClosings."""
        is_known, number = await self._redis.ask_masters(
            ("HEXISTS", self._key, path), ("HLEN", self._key)
        )
        if not is_known and number >= MAX_CLOSINGS:
            raise TooManyClosings()
        await self._redis.change(("HSET", self._key, path, days))

    async def remove(self, path: str) -> bool:
        (removed,) = await self._redis.change(("HDEL", self._key, path))
        return bool(removed)

    async def move(self, source: str, target: str) -> None:
        """A moved page takes its rule along, unless its new path has one."""
        days = await self.get(source)
        if days is not None:
            await self._redis.change(("HSETNX", self._key, target, days))
            await self.remove(source)

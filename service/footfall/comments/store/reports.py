"""Reports of comments by readers: from how many addresses each was reported."""

from collections.abc import Sequence

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...ids import SHORT, digest

KEPT_MS = 30 * 86_400_000
# Addresses that are distinguished; further ones add nothing.
MAX_REPORTS = 1_000
# The field of a comment that its reports have made pending.
HELD = "held"


class ReportStore:
    """All methods raise StoreUnavailable."""

    def __init__(self, redis: RedisClient, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def add(self, id: str, address: str) -> int:
        """Note that somebody at this address, as limits name it, reports a comment; how many have,
        or 0 if it was pending because of that before: then moderators have decided."""
        key = self._keys.reports(id)
        (number,) = await self._redis.ask_masters(("HLEN", key))
        # A digest with the comment, so that reports of two comments cannot be linked.
        names = (digest(id[:SHORT], address),) if number < MAX_REPORTS else ()
        noted = (("HSETNX", key, name, 1) for name in names)
        *_, number, held = await self._redis.change(
            *noted, ("PEXPIRE", key, KEPT_MS), ("HLEN", key), ("HGET", key, HELD)
        )
        return 0 if held else int(number)

    async def note_held(self, id: str) -> None:
        await self._redis.change(("HSETNX", self._keys.reports(id), HELD, 1))

    async def of(self, ids: Sequence[str]) -> dict[str, int]:
        """How many addresses have reported each of these comments, of those that any has."""
        keys = [self._keys.reports(id) for id in ids]
        asked = (question for key in keys for question in (("HLEN", key), ("HGET", key, HELD)))
        replies = await self._redis.ask_each(*asked)
        numbers = {
            id: int(size or 0) - bool(is_held)
            for id, size, is_held in zip(ids, replies[::2], replies[1::2], strict=True)
        }
        return {id: number for id, number in numbers.items() if number > 0}

    async def forget(self, ids: Sequence[str]) -> None:
        if ids:
            await self._redis.change(*(("DEL", self._keys.reports(id)) for id in ids))

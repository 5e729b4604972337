"""When the last backup was made and when one failed, for monitoring."""

from dataclasses import dataclass

from ..driver.client import RedisClient
from ..driver.keys import Keys

MAX_ERROR_CHARACTERS = 500
_FIELDS = ("at_ms", "bytes", "failed_at_ms", "error")


@dataclass(frozen=True, slots=True)
class LastBackup:
    """The last whole backup, with its length as it was written; and when the last one failed, and
    why. A time is 0 if that has not happened."""

    at_ms: int
    bytes: int
    failed_at_ms: int
    error: str


class Backups:
    def __init__(self, redis: RedisClient, keys: Keys) -> None:
        self._redis = redis
        self._key = keys.site("backup")

    async def last(self) -> LastBackup | None:
        """None if none was made yet, nor failed."""
        (reply,) = await self._redis.ask(("HMGET", self._key, *_FIELDS))
        if not any(reply):
            return None
        at_ms, length_bytes, failed_at_ms = (int(word or 0) for word in reply[:3])
        return LastBackup(at_ms, length_bytes, failed_at_ms, (reply[3] or b"").decode())

    async def succeeded(self, at_ms: int, length_bytes: int) -> None:
        await self._redis.change(("HSET", self._key, "at_ms", at_ms, "bytes", length_bytes))

    async def failed(self, at_ms: int, error: str) -> None:
        error = error[:MAX_ERROR_CHARACTERS]
        await self._redis.change(("HSET", self._key, "failed_at_ms", at_ms, "error", error))

"""What can be put back for a minute: records of what moderators changed, by random names."""

import secrets
from collections.abc import AsyncIterator

from ..driver.client import RedisClient
from ..driver.keys import Keys
from .projections import UNDO_MS

# Texts of edits are kept in a record. Who edits more than this at once cannot put it back.
MAX_RECORD_BYTES = 4 << 20


class UndoRecords:
    def __init__(self, redis: RedisClient, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def keep(self, record: bytes) -> str:
        """The name that it can be taken by, once and for UNDO_MS; "" if it is too large."""
        if len(record) > MAX_RECORD_BYTES:
            return ""
        name = secrets.token_hex(8)
        await self._redis.change(("SET", self._key(name), record, "PX", UNDO_MS))
        return name

    async def take(self, name: str) -> bytes | None:
        """The record, for the first one who asks; None for everybody else, and after UNDO_MS."""
        key = self._key(name)
        record, is_mine = await self._redis.change(("GET", key), ("DEL", key))
        return record if is_mine else None

    async def every(self) -> AsyncIterator[tuple[str, bytes]]:
        """All records that there are, each with its name."""
        async for keys in self._redis.scan(self._key("*")):
            for key in keys:
                (record,) = await self._redis.ask_masters(("GET", key))
                if record:
                    yield key.decode().rpartition(":")[2], record

    def _key(self, name: str) -> str:
        return self._keys.site(f"undo:{name}")

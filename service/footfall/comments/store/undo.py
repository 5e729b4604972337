"""Undo records, valid for one minute: moderators' changes, by random names.

A record stays until all of it is restored. An undo claims its record, so that only one of two runs;
a claim expires, because its process may die. Then another undo can continue for a minute, in which
nothing is removed (deletions.py).
"""

import secrets
from collections.abc import AsyncIterator, Sequence

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...errors import NotOver
from .projections import UNDO_MS

# A record contains the texts of edits. Larger edits cannot be undone.
MAX_RECORD_BYTES = 4 << 20
# Usually long enough to restore a record: two concurrent undos only do it twice.
CLAIM_MS = 5_000


class UndoRecords:
    def __init__(self, redis: RedisClient, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def keep(self, record: bytes) -> str:
        """The name that it can be claimed by, for UNDO_MS; "" if it is too large."""
        if len(record) > MAX_RECORD_BYTES:
            return ""
        name = secrets.token_hex(8)
        await self._redis.change(("SET", self._key(name), record, "PX", UNDO_MS))
        return name

    async def claim(self, name: str) -> bytes | None:
        """The record; None if it is missing or expired. Raises NotOver while another caller has
        it."""
        # In this order: a caller who claims it after another one has finished finds none.
        is_mine, record = await self._redis.change(
            ("SET", self._claim(name), "", "NX", "PX", CLAIM_MS), ("GET", self._key(name))
        )
        if not record:
            return None
        if not is_mine:
            raise NotOver()
        await self.hold([name])
        return bytes(record)

    async def hold(self, names: Sequence[str]) -> None:
        """Keep these records for another UNDO_MS, with what they were made of."""
        longer = (("PEXPIRE", self._key(name), UNDO_MS) for name in names)
        await self._redis.change(("SET", self._keys.held_back, 1, "PX", UNDO_MS), *longer)

    async def release(self, name: str) -> None:
        """Let another caller claim it, who does the rest."""
        await self._redis.change(("DEL", self._claim(name)))

    async def remove(self, name: str) -> bool:
        """True if there was such a record."""
        there, _ = await self._redis.change(("DEL", self._key(name)), ("DEL", self._claim(name)))
        return bool(there)

    async def every(self) -> AsyncIterator[tuple[str, bytes]]:
        """All records, each with its name."""
        async for keys in self._redis.scan(self._key("*")):
            for key in keys:
                (record,) = await self._redis.ask_masters(("GET", key))
                if record:
                    yield key.decode().rpartition(":")[2], record

    def _key(self, name: str) -> str:
        return self._keys.site(f"undo:{name}")

    def _claim(self, name: str) -> str:
        return self._keys.site(f"undoing:{name}")

"""Records of moderators' actions, by random names: what each is about to change, and its progress.

A step is written down before the first comment of it changes, as durably as any change. Records
expire a minute after the last step. An undo claims its record, so that only one of two runs; a
claim expires, because its process may die. While an undo may run, no deleted comment is removed
(deletions.py).
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import orjson

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...errors import NotOver
from ...statistics.numbered import hashes
from .projections import UNDO_MS

# Usually long enough to restore a record: two concurrent undos only do it twice.
CLAIM_MS = 5_000
# Actions of the last minute that are listed; further ones can still be undone by name.
MAX_RECENT = 50
HEAD = "head"


class Actions:
    """All coroutines raise StoreUnavailable."""

    def __init__(self, redis: RedisClient, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def start(self, name: str, head: Mapping[str, Any], now_ms: int) -> bool:
        """Store a new action; False if there is one of this name."""
        is_new, *_ = await self._redis.change(*self._beginning(name, head, now_ms))
        return bool(is_new)

    async def write(
        self, name: str, entries: Mapping[str, Any], head: Mapping[str, Any], now_ms: int
    ) -> None:
        """Write down what is about to change: comment -> what it is now. An entry replaces an
        earlier one of the same comment. The action is stored if it is new."""
        pairs = [word for id, entry in entries.items() for word in (id, orjson.dumps(entry))]
        await self._redis.change(
            ("HSET", self._key(name), *pairs), *self._beginning(name, head, now_ms)
        )

    def _beginning(
        self, name: str, head: Mapping[str, Any], now_ms: int
    ) -> Sequence[Sequence[object]]:
        key, names = self._key(name), self._keys.site("actions")
        return (
            ("HSETNX", key, HEAD, orjson.dumps(head)),
            ("PEXPIRE", key, UNDO_MS),
            ("ZADD", names, "NX", now_ms, name),
            ("ZREMRANGEBYSCORE", names, "-inf", now_ms - 2 * UNDO_MS),
        )

    async def note(self, name: str, head: Mapping[str, Any]) -> None:
        """Note progress."""
        key = self._key(name)
        await self._redis.change(("HSET", key, HEAD, orjson.dumps(head)), ("PEXPIRE", key, UNDO_MS))

    async def head(self, name: str) -> Mapping[str, Any] | None:
        (stored,) = await self._redis.ask_masters(("HGET", self._key(name), HEAD))
        return orjson.loads(stored) if stored else None

    async def claim(self, name: str) -> dict[str, Any]:
        """The entries, for an undo; none if the record is missing or expired. Raises NotOver while
        another caller has it."""
        # In this order: a caller who claims it after another one has finished finds none.
        is_mine, *_ = await self._redis.change(
            ("SET", self._claim(name), "", "NX", "PX", CLAIM_MS),
            ("SET", self._keys.held_back, 1, "PX", UNDO_MS),
            ("PEXPIRE", self._key(name), UNDO_MS),
        )
        entries = await self.entries(name)
        if entries and not is_mine:
            raise NotOver()
        return entries

    async def entries(self, name: str) -> dict[str, Any]:
        """What is written down: comment -> what it was."""
        (record,) = await hashes(self._redis, [self._key(name)])
        entries = {id.decode(): orjson.loads(entry) for id, entry in record.items()}
        entries.pop(HEAD, None)
        return entries

    async def release(self, name: str) -> None:
        """Let another caller claim it, who does the rest."""
        await self._redis.change(("DEL", self._claim(name)))

    async def remove(self, name: str) -> None:
        await self._redis.change(
            ("DEL", self._key(name)),
            ("ZREM", self._keys.site("actions"), name),
            ("DEL", self._claim(name)),
        )

    async def recent(self, since_ms: int) -> list[str]:
        """The names of the newest actions since then, newest first."""
        command = ("ZRANGE", self._keys.site("actions"), "+inf", since_ms, "BYSCORE", "REV")
        (names,) = await self._redis.ask_masters((*command, "LIMIT", 0, MAX_RECENT))
        return [name.decode() for name in names]

    async def every(self) -> AsyncIterator[tuple[str, Mapping[str, Any]]]:
        """All records: name, and entries."""
        async for keys in self._redis.scan(self._key("*")):
            for key in keys:
                name = key.decode().rpartition(":")[2]
                yield name, await self.entries(name)

    def _key(self, name: str) -> str:
        return self._keys.site(f"action:{name}")

    def _claim(self, name: str) -> str:
        return self._keys.site(f"undoing:{name}")

"""Progress of bulk actions in the background, by random names."""

from collections.abc import Mapping
from typing import Any

import orjson

from ...driver.client import RedisClient
from ...driver.keys import Keys
from .projections import UNDO_MS

# Such an action has ended long before that, and can no longer be undone.
KEPT_MS = 5 * UNDO_MS


class BulkActions:
    def __init__(self, redis: RedisClient, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def note(self, name: str, fields: Mapping[str, Any]) -> None:
        key = self._key(name)
        await self._redis.change(("SET", key, orjson.dumps(fields), "PX", KEPT_MS))

    async def get(self, name: str) -> Mapping[str, Any] | None:
        (noted,) = await self._redis.ask_masters(("GET", self._key(name)))
        return orjson.loads(noted) if noted else None

    def _key(self, name: str) -> str:
        return self._keys.site(f"bulk:{name}")

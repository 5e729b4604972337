"""What a language model has said of comments, and how often it was asked today."""

from collections.abc import Callable, Sequence

import orjson

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...model import Verdict

DAY_MS = 86_400_000
# How long a verdict is shown.
KEPT_DAYS = 30


class VerdictStore:
    """At most `most` questions a day. All methods raise StoreUnavailable."""

    def __init__(self, redis: RedisClient, keys: Keys, clock: Callable[[], int], most: int) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._most = most

    async def take(self) -> bool:
        """Is there a question left today? Then it is one less. A day is one of UTC."""
        key = self._keys.asked(self._clock() // DAY_MS)
        asking = ("HINCRBY", key, "number", 1)
        number, _ = await self._redis.change(asking, ("PEXPIRE", key, 2 * DAY_MS))
        return int(number) <= self._most

    async def note(self, id: str, verdict: Verdict) -> None:
        text = orjson.dumps(verdict._asdict())
        await self._redis.change(("SET", self._keys.verdict(id), text, "PX", KEPT_DAYS * DAY_MS))

    async def forget(self, ids: Sequence[str]) -> None:
        if ids:
            await self._redis.change(*(("DEL", self._keys.verdict(id)) for id in ids))

    async def of(self, ids: Sequence[str]) -> dict[str, Verdict]:
        """The known ones; damaged ones are not known."""
        texts = await self._redis.ask_each(*(("GET", self._keys.verdict(id)) for id in ids))
        found = dict[str, Verdict]()
        for id, text in zip(ids, texts, strict=True):
            try:
                found[id] = Verdict(**orjson.loads(text))
            except (ValueError, TypeError):
                continue
        return found

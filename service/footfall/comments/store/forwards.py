"""Where pages were moved to: for a month, links and replies by old ids still find the comments."""

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...ids import SHORT, digest

FORWARD_MS = 30 * 86_400_000
# A page may have been moved so often.
MAX_HOPS = 5


class Forwards:
    """All coroutines raise StoreUnavailable."""

    def __init__(self, redis: RedisClient, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def lead(self, source: str, target: str) -> None:
        """Ids of the page `source` lead to `target` from now on; those of `target` stay there."""
        await self._redis.change(
            ("SET", self._key(digest(source)), target.encode(), "PX", FORWARD_MS),
            ("DEL", self._key(digest(target))),
        )

    async def follow(self, id: str) -> tuple[str, str] | None:
        """The path and the id of a comment on the page to which its page was moved; None if it was
        not."""
        path, page = "", id[SHORT:]
        for _ in range(MAX_HOPS):
            (stored,) = await self._redis.ask_masters(("GET", self._key(page)))
            if not stored:
                break
            path = stored.decode()
            page = digest(path)
        return (path, id[:SHORT] + page) if path else None

    def _key(self, page: str) -> str:
        return self._keys.site(f"forward:{page}")

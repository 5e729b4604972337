"""Who wants no more mails: of a thread, or of any. Addresses are there as digests."""

from ..driver.client import Connected
from ..driver.keys import Keys


class Unsubscribed:
    def __init__(self, redis: Connected, keys: Keys) -> None:
        self._redis = redis
        self._key = keys.site("unsubscribed")

    async def add(self, who: str, thread: str) -> None:
        """`who` is a digest of a mail; `thread` the id of a root, or "" for all."""
        await self._redis.change(("SADD", self._key, _member(who, thread)))

    async def has(self, who: str, thread: str) -> bool:
        """Does somebody want no mail of this thread?"""
        members = (_member(who, ""), _member(who, thread))
        (found,) = await self._redis.ask_masters(("SMISMEMBER", self._key, *members))
        return any(found)


def _member(who: str, thread: str) -> str:
    return f"{who} {thread}" if thread else who

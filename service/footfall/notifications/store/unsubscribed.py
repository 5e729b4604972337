"""Unsubscribed recipients, of a thread or of all. Addresses are stored as digests."""

from ...driver.client import RedisClient
from ...driver.keys import Keys

# Of a walk over them, in one trip.
STEP_MEMBERS = 1_000


class Unsubscribed:
    def __init__(self, redis: RedisClient, keys: Keys) -> None:
        self._redis = redis
        self._key = keys.site("unsubscribed")

    async def add(self, who: str, thread: str) -> None:
        """`who` is a digest of a recipient; `thread` the id of a root, or "" for all."""
        await self._redis.change(("SADD", self._key, _member(who, thread)))

    async def move(self, source: str, target: str) -> None:
        """Who is unsubscribed from threads of the page with the one digest is so from those of the
        other."""
        cursor = b"0"
        while True:
            cursor, members = (
                await self._redis.ask_masters(
                    ("SSCAN", self._key, cursor, "MATCH", f"* *{source}", "COUNT", STEP_MEMBERS)
                )
            )[0]
            if members:
                moved = [member.decode().removesuffix(source) + target for member in members]
                await self._redis.change(("SADD", self._key, *moved))
            if cursor == b"0":
                return

    async def has(self, who: str, thread: str) -> bool:
        """Is the recipient with this digest unsubscribed from this thread?"""
        members = [_member(who, of) for of in ("", thread)]
        (reply,) = await self._redis.ask_masters(("SMISMEMBER", self._key, *members))
        return any(reply)


def _member(who: str, thread: str) -> str:
    return f"{who} {thread}" if thread else who

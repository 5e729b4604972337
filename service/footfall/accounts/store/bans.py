"""Bans, in one hash of the site's slot.

A version beside them rises with every change: a cached copy is checked by reading that alone.
"""

from collections.abc import AsyncIterator, Mapping, Sequence

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...driver.scripts import Scripts
from ...errors import TooManyBans
from ...model import Ban, Catch
from . import codec

MAX_BANS = 10_000
# The field that is not a ban: no address, email or id is written like that.
VERSION = "version"
# COUNT of the steps of a walk; a packed hash is returned as a whole.
STEP_BANS = 512


class Changed(Exception):
    """The ban has changed since it was read: read it again."""


class Bans:
    """Bans by value; callers pass its canonical form."""

    def __init__(self, redis: RedisClient, scripts: Scripts, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._ban = scripts["site/ban"]
        self._catch = scripts["site/catch"]

    async def version(self) -> int:
        """0: nothing was ever banned."""
        (version,) = await self._redis.ask_masters(("HGET", self._keys.site("bans"), VERSION))
        return int(version or 0)

    async def get(self, value: str) -> Ban | None:
        (reply,) = await self._redis.ask_masters(("HGET", self._keys.site("bans"), value))
        return codec.ban(value, reply) if reply and value != VERSION else None

    async def require_room(self, value: str) -> None:
        """Raises TooManyBans if one of this value would be one too many."""
        key = self._keys.site("bans")
        is_known, number = await self._redis.ask_masters(("HEXISTS", key, value), ("HLEN", key))
        # One field is the version.
        if not is_known and number > MAX_BANS:
            raise TooManyBans(MAX_BANS)

    async def every(self) -> AsyncIterator[list[Ban]]:
        """All bans that exist throughout, in steps; one may come twice."""
        cursor = b"0"
        while True:
            command = ("HSCAN", self._keys.site("bans"), cursor, "COUNT", STEP_BANS)
            ((cursor, pairs),) = await self._redis.ask_masters(command)
            fields = zip(pairs[::2], pairs[1::2], strict=True)
            yield [
                codec.ban(value.decode(), body)
                for value, body in fields
                if value != VERSION.encode() and codec.is_ban(body)
            ]
            if cursor == b"0":
                return

    async def note_caught(self, caught: Mapping[str, int], now_ms: int) -> None:
        """Add these numbers of catches, up to now."""
        pairs = [word for value, number in caught.items() for word in (value, number)]
        bans, key = self._keys.site("bans"), self._keys.site("caught")
        await self._catch(bans=bans, caught=key, now=now_ms, numbers=pairs)

    async def caught(self, values: Sequence[str]) -> list[Catch]:
        """How often each of these has caught something, and when last."""
        if not values:
            return []
        fields = [field for value in values for field in (f"n {value}", f"at {value}")]
        (reply,) = await self._redis.ask(("HMGET", self._keys.site("caught"), *fields))
        numbers = [int(word or 0) for word in reply]
        return list(map(Catch, numbers[::2], numbers[1::2]))

    async def change(
        self,
        value: str,
        before: Ban | None,
        after: Ban | None,
        now_ms: int,
        entry: Sequence[str] = (),
    ) -> None:
        """Put another in its place, or none; `entry` is for the log, fields and values in turn.

        Raises Changed and TooManyBans.
        """
        match await self._ban(
            bans=self._keys.site("bans"),
            log=self._keys.site("log"),
            caught=self._keys.site("caught"),
            value=value,
            before=codec.ban_body(before) if before else b"",
            ban=codec.ban_body(after) if after else b"",
            now=now_ms,
            most=MAX_BANS,
            entry=entry,
        ):
            case [b"CHANGED"]:
                raise Changed()
            case [b"FULL"]:
                raise TooManyBans(MAX_BANS)

"""What moderators and spam filters did lately: streams that forget their oldest entries."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...driver.client import RedisClient
from ...driver.keys import Keys

# The approximate number of entries; the scripts that add one have the same number.
LOGGED = 10_000
# Of a walk over them, in one trip.
STEP_ENTRIES = 512


class LogEntry(NamedTuple):
    """`id` is the entry's own; its first half is the time, in ms since the epoch.

    `fields` are `by`, an account's id; `did`; `id`, of a comment or an account, or a ban; `was` and
    `now`; and of comments `door`, the way on which it was decided, and `action`, the name of what
    it is a part of.
    """

    id: str
    fields: Mapping[str, str]

    @property
    def at(self) -> int:
        return int(self.id.partition("-")[0])


class ModerationLog:
    def __init__(self, redis: RedisClient, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def add(self, **fields: str) -> None:
        """A change of something other than a comment; its fields are those of an entry."""
        pairs = [word for pair in fields.items() for word in pair]
        await self._redis.change(
            ("XADD", self._keys.site("log"), "MAXLEN", "~", LOGGED, "*", *pairs)
        )

    async def forget(self, about: str) -> int:
        """Delete the entries about this; how many there were."""
        return sum([await self._forget(key, about) for key in self._streams])

    async def _forget(self, key: str, about: str) -> int:
        first, number = "-", 0
        while True:
            command = ("XRANGE", key, first, "+", "COUNT", STEP_ENTRIES)
            (reply,) = await self._redis.ask_masters(command)
            entries = [(id, fields[1::2]) for id, fields in reply]
            gone = [id for id, pairs in entries if about.encode() in pairs]
            if gone:
                await self._redis.change(("XDEL", key, *gone))
            number += len(gone)
            if len(entries) < STEP_ENTRIES:
                return number
            first = f"({entries[-1][0].decode()}"

    async def newest(self, count: int, before: str = "") -> list[LogEntry]:
        """So many entries, newest first; those before the one with this id."""
        last = f"({before}" if before else "+"
        streams = await self._redis.ask(
            *(("XREVRANGE", key, last, "-", "COUNT", count) for key in self._streams)
        )
        entries = [
            LogEntry(id.decode(), _fields_of(pairs)) for reply in streams for id, pairs in reply
        ]
        return sorted(entries, key=_age_of, reverse=True)[:count]

    @property
    def _streams(self) -> tuple[str, str]:
        return self._keys.site("log"), self._keys.site("filtered")


def _age_of(entry: LogEntry) -> list[int]:
    return [int(number) for number in entry.id.split("-")]


def _fields_of(pairs: Sequence[bytes]) -> dict[str, str]:
    texts = [word.decode() for word in pairs]
    return dict(zip(texts[::2], texts[1::2], strict=True))

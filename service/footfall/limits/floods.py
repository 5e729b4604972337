"""Who floods: the clients that all processes of a service refuse most, in the last two minutes."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from ..driver.client import RedisClient
from ..driver.keys import Keys
from ..plurals import number_of

# Refusals of two minutes that make a client one.
FLOOD = 60
# Of one process at a time, of a minute, and those that are shown.
MOST_ADDED, MOST_KEPT, MOST_SHOWN = 100, 1000, 10
MINUTE_MS = 60_000
LASTS_MS = 3 * MINUTE_MS
ADVICE = (
    "if these are readers, raise the setting that is named here, or name your proxy in "
    "TRUSTED_PROXIES; an attacker is best blocked in front of this service"
)


class Flood(NamedTuple):
    """A client, an address or a /48; limit -> what that has refused."""

    client: str
    refusals: Mapping[str, int]

    def __str__(self) -> str:
        by = (f"{number:,} by {limit}" for limit, number in self.refusals.items())
        total = number_of(sum(self.refusals.values()), "refusal")
        return f"{self.client or 'unknown addresses'}: {total} in two minutes, {', '.join(by)}"


class Floods:
    def __init__(self, redis: RedisClient, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def add(self, refusals: Counter[tuple[str, str]], now_ms: int) -> None:
        """Add what a process has refused. Raises StoreUnavailable."""
        key = self._key(now_ms // MINUTE_MS)
        await self._redis.change(
            *(
                ("ZINCRBY", key, number, f"{limit} {client}")
                for (client, limit), number in refusals.most_common(MOST_ADDED)
            ),
            ("ZREMRANGEBYRANK", key, 0, -MOST_KEPT - 1),
            ("PEXPIRE", key, LASTS_MS),
        )

    async def lately(self, now_ms: int) -> list[Flood]:
        """Who was refused most, at least FLOOD times. Raises StoreUnavailable."""
        minute = now_ms // MINUTE_MS
        kept = await self._redis.ask(
            *(("ZRANGE", self._key(each), 0, -1, "WITHSCORES") for each in (minute - 1, minute))
        )
        clients = defaultdict[str, Counter[str]](Counter)
        for row in kept:
            for entry, number in zip(row[::2], row[1::2], strict=True):
                limit, _, client = entry.decode().partition(" ")
                clients[client][limit] += int(number)
        most = sorted(clients.items(), key=lambda each: -each[1].total())[:MOST_SHOWN]
        return [
            Flood(client, dict(refusals.most_common()))
            for client, refusals in most
            if refusals.total() >= FLOOD
        ]

    def _key(self, minute: int) -> str:
        return self._keys.site(f"refused:{minute}")


def told(floods: list[Flood]) -> list[str]:
    """Lines for the owner; none if nobody floods."""
    return [*map(str, floods), ADVICE] if floods else []

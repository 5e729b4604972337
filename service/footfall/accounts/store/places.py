"""Addresses from which accounts have logged in, as digests."""

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...driver.scripts import Scripts
from ...ids import SHORT


class PlaceStore:
    def __init__(self, redis: RedisClient, scripts: Scripts, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._remember = scripts["accounts/remember"]

    async def has(self, id: str, place: str, since_ms: int) -> bool:
        """Has the account logged in there since then?"""
        (last_ms,) = await self._redis.ask_masters(("ZSCORE", self._places(id), place))
        return last_ms is not None and float(last_ms) > since_ms

    async def remember(self, id: str, place: str, *, now_ms: int, lasts_ms: int, keep: int) -> None:
        """Note that the account has logged in there, among `keep` at most."""
        await self._remember(
            bodies=self._keys.accounts,
            places=self._places(id),
            id=id,
            place=place,
            now=now_ms,
            lasts=lasts_ms,
            keep=keep,
        )

    def _places(self, id: str) -> str:
        return self._keys.account(f"places:{id[:SHORT]}")

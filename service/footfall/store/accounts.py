"""Accounts, all behind one hash tag: they are few and rarely written, and claims must be atomic."""

from collections.abc import Iterable

from ..driver.client import Connected
from ..driver.keys import Keys
from ..model import Account
from . import codec


class Accounts:
    def __init__(self, redis: Connected, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def save(self, account: Account) -> None:
        body = codec.account_body(account)
        # The account before the version: a page made of the old account must not get the new one.
        await self._redis.change(
            ("HSET", self._keys.accounts, account.id, body), ("INCR", self._keys.accounts_version)
        )

    async def by_ids(self, ids: Iterable[str]) -> dict[str, Account]:
        """The accounts that there are among these ids."""
        wanted = sorted(set(ids))
        if not wanted:
            return {}
        (bodies,) = await self._redis.ask(("HMGET", self._keys.accounts, *wanted))
        return {
            id: codec.account(id, body) for id, body in zip(wanted, bodies, strict=True) if body
        }

"""Accounts, all behind one hash tag: they are few and rarely written, and claims must be atomic."""

from collections.abc import Iterable

from ..model import Account
from . import codec
from .connect import Clients
from .keys import Keys


class Accounts:
    def __init__(self, clients: Clients, keys: Keys) -> None:
        self._clients = clients
        self._keys = keys

    async def save(self, account: Account) -> None:
        async with self._clients.answering():
            await self._clients.writer.hset(
                self._keys.accounts, account.id, codec.account_body(account)
            )

    async def by_ids(self, ids: Iterable[str]) -> dict[str, Account]:
        """The accounts that there are among these ids."""
        wanted = sorted(set(ids))
        if not wanted:
            return {}
        async with self._clients.answering():
            bodies = await self._clients.reader.hmget(self._keys.accounts, wanted)
        return {
            id: codec.account(id, body) for id, body in zip(wanted, bodies, strict=True) if body
        }

"""People whose names look like an administrator's."""

from collections.abc import Callable, Mapping

from ...markup import look_of
from ...model import Account, Viewer
from ..store.accounts import AccountStore

# Names of administrators change rarely.
KNOWN_MS = 60_000


class Lookalikes:
    def __init__(self, store: AccountStore, clock: Callable[[], int]) -> None:
        self._store = store
        self._clock = clock
        self._known: Mapping[str, Account] = {}
        self._until_ms = 0

    async def administrators(self, viewer: Viewer) -> Mapping[str, Account]:
        """Administrators by what their names look like, for moderators, as they were a minute ago
        or later; others get none."""
        if not viewer.is_moderator:
            return {}
        if self._clock() >= self._until_ms:
            self._until_ms = self._clock() + KNOWN_MS
            found = await self._store.by_ids(await self._store.administrators())
            self._known = {look_of(account.nick): account for account in found.values()}
        return self._known

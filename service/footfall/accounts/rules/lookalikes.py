"""People whose names look like an administrator's."""

from collections.abc import Mapping

from ...markup import look_of
from ...model import Account, Viewer
from ..store.accounts import AccountStore


async def administrators_by_look(store: AccountStore, viewer: Viewer) -> Mapping[str, Account]:
    """Administrators by what their names look like, for moderators; others get none."""
    if not viewer.is_moderator:
        return {}
    administrators = await store.by_ids(await store.administrators())
    return {look_of(account.nick): account for account in administrators.values()}

"""Stores accounts for tests, with any state and history."""

from footfall.accounts.rules.mails import canonical
from footfall.accounts.store.codec import account_body
from footfall.data.store import Store
from footfall.model import Account


async def save_account(store: Store, account: Account) -> None:
    """Store an account without a password and without any check."""
    keys = store.keys
    is_administrator = account.role == "administrator"
    await store.redis.change(
        ("HSET", keys.accounts, account.id, account_body(account)),
        ("HSET", keys.account("mails"), canonical(account.mail), account.id),
        ("ZADD", keys.account("ids"), 0, account.id),
        (
            "ZADD" if is_administrator else "ZREM",
            keys.account("administrators"),
            *([0] if is_administrator else []),
            account.id,
        ),
    )
    async for pages in store.site.pages_of(account.id, 100):
        for page in pages:
            await store.comments.touch(page, 0)

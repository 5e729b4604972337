"""Links that work once: one sets a password, another says that a mail is its account's."""

import secrets
from dataclasses import replace

from ..errors import LinkExpired
from ..model import Account, Caller
from ..store.accounts import Link, Purpose
from .accounts import Change, changed
from .attempts import attempt
from .service import Service

# Of a link that sets a password.
LINK_SECONDS = 24 * 3600


async def new_link(service: Service, id: str, purpose: Purpose = "password") -> str:
    """What sets this account's password, or verifies its mail, once, for LINK_SECONDS."""
    token = secrets.token_urlsafe(24)
    await service.accounts.keep_link((purpose, token), id, lasts_ms=LINK_SECONDS * 1000)
    return token


async def set_password(service: Service, token: str, password: str, caller: Caller) -> None:
    """Use up a link. Raises TooManyAttempts, LinkExpired, BadRequest, Busy."""
    await attempt(service, caller)
    link: Link = ("password", token)
    stored = await service.accounts.by_id(await service.accounts.read_link(link))
    if stored is None:
        raise LinkExpired()
    made = await service.passwords.hash(password, stored.account.mail)
    await _follow(
        service, link,
        lambda account, known: (_verified(account), replace(known, password=made)),
    )  # fmt: skip


async def verify(service: Service, token: str, caller: Caller) -> None:
    """Use up a link that says that a mail is its account's. Raises TooManyAttempts, LinkExpired."""
    await attempt(service, caller)
    await _follow(service, ("verify", token), lambda account, known: (_verified(account), known))


async def _follow(service: Service, link: Link, change: Change) -> None:
    id = await service.accounts.read_link(link)
    if not id or await changed(service, id, change, link) is None:
        raise LinkExpired()


def _verified(account: Account) -> Account:
    """Whoever has a link was sent it, so the mail is theirs. A ban stays one."""
    return replace(account, role="guest") if account.role == "unverified" else account

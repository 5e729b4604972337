"""Single-use links of an account: they set its password, or change its email.

An account has one of each kind: a newer one invalidates the older. Any change of the password
invalidates it, too, since the link holds digests of its secret and of the former password.
"""

import hmac
import secrets
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256

from ...errors import Banned, LinkExpired
from ...limits.clients import known_client, pool_client_of
from ...model import Account, Caller, Credentials
from ...notify.account_mail import AccountMail
from ..noun import Accounts
from ..store.accounts import AccountStore, Purpose, UsedLink
from . import attempts
from .attempts import attempt
from .changes import change_account
from .mails import canonical

# Of a link that a command prints, and of one that is mailed on request.
LINK_SECONDS = 24 * 3600
MAILED_SECONDS = 3600
# In the place of an id, for which nobody gets the link.
NO_ACCOUNT = "nobody"


@dataclass(frozen=True, slots=True)
class Opened:
    """A link that was presented; `more` is the data it was made with."""

    id: str
    used: UsedLink
    password: str
    more: str

    def require(self, credentials: Credentials) -> None:
        """Raises LinkExpired if the password was changed since it was made."""
        if self.password != _digest(credentials.password):
            raise LinkExpired()


async def new_link(
    accounts: AccountStore,
    id: str,
    purpose: Purpose = "password",
    *,
    lasts_seconds: int = LINK_SECONDS,
    more: str = "",
) -> str:
    """The token of a link for this account."""
    stored = await accounts.by_id(id)
    secret = secrets.token_urlsafe(24)
    credentials = stored.credentials if stored else Credentials()
    what = f"{_digest(secret)} {_digest(credentials.password)} {more}"
    await accounts.keep_link((purpose, id), what, lasts_ms=lasts_seconds * 1000)
    return f"{id}.{secret}"


async def opened(accounts: AccountStore, token: str, purpose: Purpose) -> Opened | None:
    """The link with this token, if it exists."""
    id, _, secret = token.rpartition(".")
    if not id:
        return None
    what = await accounts.read_link((purpose, id))
    digest, _, rest = what.partition(" ")
    if not hmac.compare_digest(digest, _digest(secret)):
        return None
    password, _, more = rest.partition(" ")
    return Opened(id, UsedLink((purpose, id), what), password, more)


async def set_password(accounts: Accounts, token: str, password: str, caller: Caller) -> None:
    """Use up a link. Raises TooManyAttempts, LinkExpired, BadRequest, Busy."""
    tried = await attempt(accounts.buckets, caller)
    mailed = await opened(accounts.store, token, "reset")
    link = mailed or await opened(accounts.store, token, "password")
    if link is None or not await _is_still_invited(accounts.store, link):
        raise LinkExpired()
    stored = await accounts.store.by_id(link.id)
    mail, client = stored.account.mail if stored else "", known_client(f"account {link.id}")
    made = await accounts.passwords.hash(password, mail, client)

    def change(account: Account, credentials: Credentials) -> tuple[Account, Credentials]:
        link.require(credentials)
        proven = _proven(account, credentials) if mailed else credentials
        return _verified(account), replace(proven, password=made)

    if await change_account(accounts, link.id, change, used=link.used) is None:
        raise LinkExpired()
    tried.succeeded(link.id)


async def _is_still_invited(accounts: AccountStore, link: Opened) -> bool:
    """An invitation, which names who has made it, ends when that is an administrator no longer."""
    inviter = await accounts.by_id(link.more) if link.more else None
    return not link.more or (inviter is not None and inviter.account.role == "administrator")


async def forgotten(accounts: Accounts, mail: str, caller: Caller) -> None:
    """Email a link to the owner of the account with this email. The answer does not reveal whether
    there is one: everything that depends on it happens in the background. Raises TooManyAttempts,
    Busy."""
    accounts.bans.look()
    await attempts.mail(accounts.buckets, caller)
    reset = partial(_reset, accounts, canonical(mail), caller.language)
    accounts.mails.start(reset, pool_client_of(caller))


async def _reset(accounts: Accounts, mail: str, language: str) -> AccountMail | None:
    """As much work is done if nothing is sent: otherwise the service's load would reveal it."""
    stored = await accounts.store.by_mail(mail)
    is_sent = stored is not None and stored.account.role != "banned"
    id = stored.id if stored else NO_ACCOUNT
    # To the email as the account has it: the request may have spelled it otherwise.
    to = stored.account.mail if stored else mail
    with suppress(Banned):
        await accounts.bans.require_none(Caller(), mail)
        if not await accounts.mails.wait_ms("reset", mail):
            token = await new_link(accounts.store, id, "reset", lasts_seconds=MAILED_SECONDS)
            return AccountMail("reset", to, language, f"/ui/forgot#{token}", is_sent=is_sent)
    return None


def _proven(account: Account, credentials: Credentials) -> Credentials:
    """An account after its email was confirmed: without services, if somebody else may have added
    them. Two-factor authentication stays, since an email alone never replaces it."""
    mail = canonical(account.mail)
    return (
        credentials
        if credentials.confirmed == mail
        else replace(credentials, confirmed=mail, identities={})
    )


def _verified(account: Account) -> Account:
    """Somebody with a link was sent it, so the email is theirs. A ban stays one."""
    return replace(account, role="guest") if account.role == "unverified" else account


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()[:32]

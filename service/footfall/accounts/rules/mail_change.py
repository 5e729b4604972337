"""Changes of an account's email: confirmed by a link that is sent to the new one.

Opening the link proves the address; a session or the password proves the account. Otherwise people
might confirm a stranger's account out of politeness.
"""

from contextlib import suppress
from dataclasses import replace

from ...errors import Busy, LinkExpired, UserExists, WrongPassword
from ...limits.clients import known_client, pool_client_of
from ...model import MAY_LOG_IN, Account, Caller, Credentials
from ...notify.account_mail import AccountMail
from ..noun import Accounts
from . import attempts
from .account_mails import AccountMails
from .attempts import attempt
from .changes import change_account
from .links import Opened, new_link, opened
from .mails import canonical


async def is_needed(accounts: Accounts, id: str, mail: str) -> bool:
    """Has this email to be confirmed before it is the account's? Raises UserExists."""
    if not accounts.mails.confirms:
        return False
    compared = canonical(mail)
    owner = await accounts.store.by_mail(compared)
    if owner is None:
        return True
    if owner.id != id:
        raise UserExists()
    return owner.credentials.confirmed != compared


async def require_turn(accounts: Accounts, mail: str, caller: Caller) -> None:
    """Count an email that `begin` sends. Raises TooManyAttempts, Busy."""
    await attempts.mail(accounts.buckets, caller)
    await accounts.mails.require_turn("mail", canonical(mail))


async def start(accounts: Accounts, account: Account, mail: str, caller: Caller) -> None:
    """Email a link to the address. Raises Busy."""
    token = await new_link(accounts.store, account.id, "mail", more=mail)
    letter = AccountMail("mail", mail, caller.language, f"/ui/confirm#{token}", account.nick)
    accounts.mails.send(letter, pool_client_of(caller))


async def confirm(accounts: Accounts, token: str, password: str, caller: Caller) -> None:
    """Give the account its new email, and notify the old one.

    Raises TooManyAttempts, LinkExpired, WrongPassword, UserExists, Busy.
    """
    tried = await attempt(accounts.buckets, caller)
    link = await opened(accounts.store, token, "mail")
    if link is None:
        raise LinkExpired()
    await _require_owner(accounts, link, password, caller)

    def change(account: Account, credentials: Credentials) -> tuple[Account, Credentials]:
        link.require(credentials)
        if account.role not in MAY_LOG_IN:
            raise LinkExpired()
        return replace(account, mail=link.more), replace(
            credentials, confirmed=canonical(link.more)
        )

    was = await change_account(accounts, link.id, change, used=link.used)
    if was is None:
        raise LinkExpired()
    tried.succeeded(link.id)
    await _tell(accounts.mails, was, link.more, caller)


async def _require_owner(accounts: Accounts, link: Opened, password: str, caller: Caller) -> None:
    account = caller.viewer.account
    if account and account.id == link.id:
        return
    # Somebody with the link may be guessing from many addresses.
    guess = await attempt(accounts.buckets, Caller(), f"link {link.id}")
    stored = await accounts.store.by_id(link.id)
    known = stored.credentials.password if stored else ""
    client = known_client(f"account {link.id}")
    is_right, _ = await accounts.passwords.verify(password, known, client)
    if not is_right:
        raise WrongPassword()
    guess.succeeded(link.id)


async def _tell(mails: AccountMails, was: Account, mail: str, caller: Caller) -> None:
    """Notify the account's former address, if there was one."""
    compared = canonical(was.mail)
    # Who came by a service that shows none has one that leads nowhere.
    is_none = was.mail.startswith(f"{was.id}@mail.")
    if is_none or compared == canonical(mail):
        return
    # The change is made in any case.
    with suppress(Busy):
        if not await mails.wait_ms("moved", compared):
            mails.send(AccountMail("moved", was.mail, caller.language), pool_client_of(caller))

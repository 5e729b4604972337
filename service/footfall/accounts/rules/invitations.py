"""Inviting people: an account without a password, and a link by which they set one."""

from ...errors import UserExists
from ...limits.clients import pool_client_of
from ...model import Account, Caller, Credentials, Role
from ...notify.account_mail import AccountMail
from ..noun import Accounts
from .links import new_link
from .mails import canonical
from .registration import new_account

WEEK_SECONDS = 7 * 24 * 3600


async def invite(
    accounts: Accounts, mail: str, nick: str, role: Role, caller: Caller
) -> tuple[Account, str]:
    """Create an account, and the path of its link, which is emailed as well if emails are
    configured. An open invitation to the same role can be repeated.

    Raises UserExists, TooManyAttempts, Busy.
    """
    inviter = caller.viewer.account
    assert inviter is not None
    stored = await accounts.store.by_mail(canonical(mail))
    if stored:
        has_come = stored.credentials.password or stored.credentials.identities
        if has_come or stored.account.role != role:
            raise UserExists()
    if accounts.mails.are_sent:
        await accounts.mails.require_turn("invite", canonical(mail))
    account = stored.account if stored else new_account(accounts.process, nick, mail, role)
    if stored is None:
        await accounts.store.register(account, account, canonical(mail), Credentials())
    token = await new_link(accounts.store, account.id, lasts_seconds=WEEK_SECONDS, more=inviter.id)
    link = f"/ui/forgot#{token}"
    if accounts.mails.are_sent:
        accounts.mails.send(
            AccountMail("invite", account.mail, caller.language, link, inviter.nick),
            pool_client_of(caller),
        )
    return account, link

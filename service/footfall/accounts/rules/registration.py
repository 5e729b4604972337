"""Registration: permission, and the role of the first account.

If emails are confirmed, a registration is only a link that is sent to its address and contains all
of it: until it is opened, it occupies no address, and after a day it is forgotten. The link asks
for the password, or for a new name and password. So nobody who opens a stranger's link gets an
account whose password the stranger knows; and strangers who register with somebody's address, until
it gets no more emails, do not keep its owner out: each of these links serves.
"""

import secrets
from dataclasses import dataclass

import orjson

from ...errors import (
    LinkExpired,
    RegistrationClosed,
    TooManyAttempts,
    UserExists,
    WrongPassword,
    WrongSetupCode,
)
from ...ids import SHORT
from ...limits.clients import known_client, pool_client_of
from ...model import Account, Caller, Credentials, Role
from ...notify.account_mail import AccountMail
from ...permissions import AccountRules
from ...process.process import Process
from ..noun import Accounts
from ..store.accounts import AccountStore, Link, UsedLink
from . import attempts
from .captcha import Proof
from .mails import canonical

# How long a registration can be confirmed.
CONFIRM_SECONDS = 24 * 3600

MAILED_ALREADY = (
    "Too many emails were sent to this address. Open the link in one of them, which is valid for a "
    "day, and choose a password there; or try again {wait}."
)

# What an account may become as the first of all, and as any other; None: nothing.
Openings = tuple[Account | None, Account | None]


@dataclass(frozen=True, slots=True)
class Applicant:
    """Who wants an account."""

    nick: str
    mail: str
    password: str
    link: str = ""
    setup_code: str = ""
    proof: Proof = Proof()


async def register(accounts: Accounts, applicant: Applicant, caller: Caller) -> bool:
    """Make an account, the first of all an administrator's. True: it is made when the address is
    confirmed, by the link that was mailed to it.

    Raises TooManyAttempts, CaptchaFailed, Banned, RegistrationClosed, WrongSetupCode, UserExists,
    BadRequest, Busy.
    """
    accounts.bans.look()
    await attempts.apply(accounts.buckets, caller, is_guessing=bool(applicant.setup_code))
    await accounts.bans.require_none(caller, applicant.mail)
    account = new_account(accounts.process, applicant.nick, applicant.mail, "guest", applicant.link)
    openings = accounts.rules.openings(account, applicant.setup_code)
    if not any(openings):
        raise await _refusal(accounts.store, accounts.rules)
    # A token is valid once: not for a registration that is refused anyway. Only who has one learns
    # which addresses have accounts.
    await accounts.captcha.require_for_registration(applicant.proof, caller)
    asks = accounts.mails.confirms and not await _is_owners(accounts, openings)
    if asks:
        await _require_free(accounts, openings, account)
        if wait_ms := await accounts.mails.wait_ms("register", canonical(account.mail)):
            raise TooManyAttempts(wait_ms, MAILED_ALREADY)
    password = ""
    if any(openings):
        password = await accounts.passwords.hash(
            applicant.password, applicant.mail, pool_client_of(caller)
        )
    if asks:
        await _ask(accounts, account, password, caller)
    else:
        await admit(accounts, openings, Credentials(password))
    return asks


async def confirm(
    accounts: Accounts, token: str, password: str, caller: Caller, nick: str = ""
) -> None:
    """Create the account of this link, for a person who knows its password; or with a new `nick`
    and password, for one who did not register, but has the link.

    Raises TooManyAttempts, LinkExpired, WrongPassword, BadRequest, Banned, RegistrationClosed,
    WrongSetupCode, UserExists, Busy.
    """
    made = await attempts.attempt(accounts.buckets, caller)
    used = await used_by(accounts.store, token)
    asked = orjson.loads(used.what)
    await accounts.bans.require_none(caller, asked["mail"])
    client, passwords = known_client(f"registration {token}"), accounts.passwords
    if nick:
        hashed = await passwords.hash(password, asked["mail"], client)
        asked |= {"nick": nick, "link": "", "password": hashed}
    elif not (await passwords.verify(password, asked["password"], client))[0]:
        raise WrongPassword()
    account = new_account(accounts.process, asked["nick"], asked["mail"], "guest", asked["link"])
    openings = accounts.rules.openings(account, setup_code="")
    credentials = Credentials(asked["password"], confirmed=canonical(account.mail))
    account = await admit(accounts, openings, credentials, used)
    made.succeeded(account.id)


async def used_by(accounts: AccountStore, token: str) -> UsedLink:
    """The registration that this link holds. Raises LinkExpired."""
    link: Link = ("register", token)
    what = await accounts.read_link(link)
    if not what:
        raise LinkExpired()
    return UsedLink(link, what)


async def _is_owners(accounts: Accounts, openings: Openings) -> bool:
    """Is it the first account, with the setup code? A broken email server must not lock the owner
    out."""
    knows_code = bool(accounts.rules.setup_code) and openings[0] is not None
    return knows_code and await _is_first(accounts.store)


async def _is_first(accounts: AccountStore) -> bool:
    return not (await accounts.listed(0, 1))[0]


async def _require_free(accounts: Accounts, openings: Openings, account: Account) -> None:
    """Raises the errors that `admit` would raise now, before an email is sent."""
    if not openings[0 if await _is_first(accounts.store) else 1]:
        raise await _refusal(accounts.store, accounts.rules)
    if await accounts.store.by_mail(canonical(account.mail)):
        raise UserExists()


async def _ask(accounts: Accounts, account: Account, password: str, caller: Caller) -> None:
    token = secrets.token_urlsafe(24)
    asked = {"nick": account.nick, "mail": account.mail, "link": account.link, "password": password}
    what = orjson.dumps(asked).decode()
    await accounts.store.keep_link(("register", token), what, lasts_ms=CONFIRM_SECONDS * 1000)
    letter = AccountMail(
        "register", account.mail, caller.language, f"/ui/confirm#{token}", account.nick
    )
    accounts.mails.send(letter, pool_client_of(caller))


async def admit(
    accounts: Accounts, openings: Openings, credentials: Credentials, used: UsedLink | None = None
) -> Account:
    """Make an account as the first or as another, whichever may be; a link is used up by it.

    Raises LinkExpired, RegistrationClosed, WrongSetupCode, UserExists, IdentityTaken.
    """
    shape = openings[0] or openings[1]
    if shape:
        mail = canonical(shape.mail)
        if made := await accounts.store.register(*openings, mail, credentials, used):
            return made
    raise await _refusal(accounts.store, accounts.rules)


async def _refusal(
    accounts: AccountStore, rules: AccountRules
) -> RegistrationClosed | WrongSetupCode:
    """The reason why registration is not possible now."""
    is_closed = rules.registration == "closed"
    if is_closed or await accounts.administrators():
        return RegistrationClosed()
    return WrongSetupCode()


def new_account(process: Process, nick: str, mail: str, role: Role, link: str = "") -> Account:
    return Account(process.new_id("")[:SHORT], role, nick, mail, link)

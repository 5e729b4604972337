"""Accounts: who may make one, prove that it is theirs, and change what of it.

Nobody learns here whether a mail has an account, but by registering it: a log-in that fails says
nothing, and takes as long whatever was wrong.
"""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..driver.batch_kinds import Rate
from ..errors import (
    Denied,
    LastWayIn,
    LinkExpired,
    RegistrationClosed,
    TooManyAttempts,
    Unavailable,
    WrongCode,
    WrongSetupCode,
)
from ..model import MAY_LOG_IN, Account, Caller, Credentials, Role, Viewer, iso
from ..netaddr import limit_key
from ..store.accounts import Changed, Link, Purpose, Stored
from ..store.ids import SHORT, created_ms, is_short
from . import refresh, two_factor
from .captcha import Proof
from .mails import canonical
from .service import Service

After = tuple[Account, Credentials]
# What an account becomes; None: it is removed.
Change = Callable[[Account, Credentials], After | None]
# Attempts to prove something: so many at once, and one more every so many seconds. An address has
# fewer than an account, whose owner others could otherwise keep out.
ADDRESS_RATE = Rate(1 / 30, 20)
ACCOUNT_RATE = Rate(1 / 30, 100)
# A log-in that fails is answered so long after it came, whatever was wrong.
FAILED_SECONDS = 0.5
# Of a link that sets a password.
LINK_SECONDS = 24 * 3600
# How often to read again what somebody else has changed meanwhile.
MAX_READINGS = 5


@dataclass(frozen=True, slots=True)
class Applicant:
    """Who wants an account."""

    nick: str
    mail: str
    password: str
    link: str = ""
    setup_code: str = ""
    proof: Proof = Proof()


@dataclass(frozen=True, slots=True)
class Changes:
    """What is to be changed of an account; None for what stays. A label of "" takes one away."""

    nick: str | None = None
    link: str | None = None
    avatar: str | None = None
    label: str | None = None
    role: Role | None = None
    mail: str | None = None
    password: str | None = None
    removes_second_factor: bool = False
    # Other services that shall know the account no more.
    forgotten: frozenset[str] = frozenset()


async def attempt(service: Service, caller: Caller, mail: str = "") -> None:
    """Count an attempt to prove something, for this address and of this mail.

    Raises TooManyAttempts.
    """
    if caller.address:
        await _take(service, limit_key(caller.address), ADDRESS_RATE)
    if mail:
        await _take(service, f"mail {mail}", ACCOUNT_RATE)


async def _take(service: Service, who: str, rate: Rate) -> None:
    wait_ms = await service.cooldown.attempt(who, rate)
    if wait_ms:
        raise TooManyAttempts(wait_ms)


async def register(service: Service, applicant: Applicant, caller: Caller) -> Account:
    """Make an account. The first of all is the administrator's.

    Raises TooManyAttempts, CaptchaFailed, Banned, RegistrationClosed, WrongSetupCode, UserExists,
    Busy.
    """
    service.bans.look()
    await attempt(service, caller)
    await service.captcha.require_for_registration(applicant.proof, caller)
    await service.bans.require_none(caller, applicant.mail)
    account = new_account(service, applicant.nick, applicant.mail, "guest", applicant.link)
    openings = service.account_rules.openings(account, applicant.setup_code)
    password = await service.passwords.hash(applicant.password) if any(openings) else ""
    return await admit(service, openings, Credentials(password))


async def admit(
    service: Service, openings: tuple[Account | None, Account | None], credentials: Credentials
) -> Account:
    """Make an account as the first or as another, whichever may be.

    Raises RegistrationClosed, WrongSetupCode, UserExists, IdentityTaken.
    """
    shape = openings[0] or openings[1]
    if shape:
        mail = canonical(shape.mail)
        if made := await service.accounts.register(*openings, mail, credentials):
            return made
    is_closed = service.account_rules.registration == "closed"
    if is_closed or await service.accounts.administrators():
        raise RegistrationClosed()
    raise WrongSetupCode()


def new_account(service: Service, nick: str, mail: str, role: Role, link: str = "") -> Account:
    id = service.ids.new(service.clock(), "")[:SHORT]
    return Account(id, role, nick, mail, link)


def created_at(account: Account) -> str:
    """When it was made, ISO-8601 in UTC; "" if its id does not say."""
    if not is_short(account.id):
        return ""
    return iso(created_ms(account.id))


def facts(account: Account) -> dict[str, object]:
    """An account as data."""
    known: dict[str, object] = {
        "id": account.id, "type": account.role, "email": account.mail,
        "display_name": account.nick, "url": account.link, "avatar": account.avatar,
        "label": account.label,
    }  # fmt: skip
    created = created_at(account)
    return known | {"created": created} if created else known


async def log_in(
    service: Service, mail: str, password: str, code: str, caller: Caller
) -> tuple[Stored, str]:
    """The account with this mail, and a token. Raises TooManyAttempts, Banned, Denied, Busy."""
    began = asyncio.get_running_loop().time()
    compared = canonical(mail)
    service.bans.look()
    await attempt(service, caller, compared)
    for _ in range(MAX_READINGS):
        try:
            found = await _proven(service, compared, password, code)
            if found:
                # Not before: a stranger is told nothing, and an administrator may always.
                await service.bans.require_none(replace(caller, viewer=Viewer(found[0].account)))
                return found[0], await service.sessions.begin(*found)
            break
        except Changed:
            # By a log-in at the same moment with the same code, or by its owner.
            continue
    await asyncio.sleep(began + FAILED_SECONDS - asyncio.get_running_loop().time())
    raise Denied()


async def _proven(
    service: Service, mail: str, password: str, code: str
) -> tuple[Stored, Credentials] | None:
    """The account, if that is its password and code, and what is left of its credentials."""
    stored = await service.accounts.by_mail(mail)
    known = stored.credentials if stored else Credentials()
    is_right, renewed = await service.passwords.verify(password, known.password)
    if stored is None or not is_right or stored.account.role not in MAY_LOG_IN:
        return None
    left = two_factor.left_after(
        replace(known, password=renewed) if renewed else known, code, service.clock()
    )
    return (stored, left) if left else None


async def has_second_factor(service: Service, mail: str, caller: Caller) -> bool:
    """Does a log-in with this mail need a code? False where there is no account as well.

    Raises TooManyAttempts.
    """
    compared = canonical(mail)
    await attempt(service, caller)
    stored = await service.accounts.by_mail(compared)
    return stored is not None and bool(stored.credentials.totp)


async def add_second_factor(
    service: Service, secret: str, code: str, caller: Caller
) -> Sequence[str]:
    """Ask for codes of this secret from now on; the recovery codes, which are shown once.

    Raises TooManyAttempts, WrongCode.
    """
    assert caller.viewer.account is not None
    id = caller.viewer.account.id
    await attempt(service, caller, f"code {id}")
    step = two_factor.step_of(secret, code, service.clock())
    if not step:
        raise WrongCode()
    codes, digests = two_factor.new_recovery_codes()

    def change(account: Account, known: Credentials) -> After:
        return account, replace(known, totp=secret, step=step, recovery=digests)

    await changed(service, id, change)
    return codes


async def edit(service: Service, id: str, changes: Changes) -> Account | None:
    """Change all of this, or nothing; what the account was, None if there is none. A new password
    or another role ends its sessions.

    Raises UserExists, LastWayIn, LastAdministrator, Unavailable, Busy.
    """
    password = changes.password and await service.passwords.hash(changes.password)

    def change(account: Account, known: Credentials) -> After:
        return _edited(account, changes), _reset(known, changes, password or known.password)

    return await changed(service, id, change)


def _edited(account: Account, changes: Changes) -> Account:
    return Account(
        account.id,
        changes.role or account.role,
        changes.nick or account.nick,
        changes.mail or account.mail,
        changes.link or account.link,
        changes.avatar or account.avatar,
        account.label if changes.label is None else changes.label,
    )


def _reset(known: Credentials, changes: Changes, password: str) -> Credentials:
    left = {name: id for name, id in known.identities.items() if name not in changes.forgotten}
    if changes.forgotten and not (left or password):
        raise LastWayIn()
    if changes.removes_second_factor:
        known = replace(known, totp="", step=0, recovery=())
    return replace(known, password=password, identities=left)


async def remove(service: Service, id: str) -> bool:
    """Remove an account for good; its comments stay. False if there is none.

    Raises LastAdministrator.
    """
    return await changed(service, id, lambda account, known: None) is not None


async def changed(
    service: Service, id: str, change: Change, link: Link | None = None
) -> Account | None:
    """Put in an account's place what this makes of it; what it was, None if there is none. A link
    is used up with that, and not without.

    Raises LinkExpired, UserExists, IdentityTaken, LastAdministrator, Unavailable.
    """
    for _ in range(MAX_READINGS):
        stored = await service.accounts.by_id(id)
        if stored is None:
            return None
        account = stored.account
        after = change(account, stored.credentials)
        is_seen = after is None or _face(service, account) != _face(service, after[0])
        since_ms = service.clock() if is_seen else 0
        try:
            await service.accounts.change(
                stored,
                after,
                mails=(canonical(account.mail), canonical(after[0].mail if after else "")),
                revokes=after is None or _is_locked_out(stored, *after),
                unseen_since=since_ms,
                link=link,
            )
        except Changed:
            continue
        if is_seen:
            refresh.begin(service, id, since_ms)
        return account
    raise Unavailable()


def _is_locked_out(before: Stored, account: Account, credentials: Credentials) -> bool:
    """Do its sessions end by this change?"""
    return (
        credentials.password != before.credentials.password
        or account.role not in MAY_LOG_IN
        or account.role != before.account.role
    )


def _face(service: Service, account: Account) -> Account:
    """What readers see of it; of the mail, the picture that is made of it."""
    avatar = account.avatar or service.display.avatar(account.nick, account.mail, account.link)
    return replace(account, mail="", avatar=avatar)


# Links that work once.


async def new_link(service: Service, id: str, purpose: Purpose = "password") -> str:
    """What sets this account's password, or verifies its mail, once, for LINK_SECONDS."""
    token = secrets.token_urlsafe(24)
    await service.accounts.keep_link((purpose, token), id, lasts_ms=LINK_SECONDS * 1000)
    return token


async def set_password(service: Service, token: str, password: str, caller: Caller) -> None:
    """Use up a link. Raises TooManyAttempts, LinkExpired, Busy."""
    await attempt(service, caller)
    made = await service.passwords.hash(password)
    await _follow(
        service, ("password", token),
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

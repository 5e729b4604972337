"""Accounts: what of them may change, and what follows from it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from ...errors import LastWayIn, LoggedOut, Unavailable, WrongCode
from ...ids import created_ms, is_short
from ...limits.clients import known_client
from ...model import MAY_LOG_IN, Account, Caller, Credentials, Role, iso
from ...render.view import DisplayOptions
from ..noun import Accounts
from ..store.accounts import Changed, StoredAccount, UsedLink
from . import two_factor
from .attempts import attempt
from .mails import canonical

After = tuple[Account, Credentials]
# What an account becomes; None: it is removed.
Update = Callable[[Account, Credentials], After | None]
# Attempts, each after reading what someone else has changed meanwhile.
MAX_READINGS = 5


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of an account; None keeps a value. A link, picture or label of "" is removed."""

    nick: str | None = None
    link: str | None = None
    avatar: str | None = None
    label: str | None = None
    role: Role | None = None
    mail: str | None = None
    password: str | None = None
    removes_second_factor: bool = False
    ends_sessions: bool = False
    # Login services to remove.
    forgotten: frozenset[str] = frozenset()


def created_at(account: Account) -> str:
    """When it was created, ISO 8601 in UTC; "" if its id does not contain it."""
    if not is_short(account.id):
        return ""
    return iso(created_ms(account.id))


def facts(account: Account) -> dict[str, object]:
    """An account as data."""
    fields: dict[str, object] = {
        "id": account.id,
        "type": account.role,
        "email": account.mail,
        "display_name": account.nick,
        "url": account.link,
        "avatar": account.avatar,
        "label": account.label,
    }
    created = created_at(account)
    return fields | {"created": created} if created else fields


async def new_step(accounts: Accounts, secret: str, code: str, caller: Caller) -> int:
    """The step of a code that an authenticator with this new secret shows now.

    Raises LoggedOut, TooManyAttempts, WrongCode.
    """
    if caller.viewer.account is None:
        raise LoggedOut()
    id = caller.viewer.account.id
    made = await attempt(accounts.buckets, caller, f"code {id}")
    step = two_factor.step_of(secret, code, accounts.process.clock())
    if not step:
        raise WrongCode()
    made.succeeded(id)
    return step


async def ask_for_codes(
    accounts: Accounts, secret: str, step: int, caller: Caller
) -> Sequence[str]:
    """Ask for codes of this secret from now on, later ones than this step's; the recovery codes,
    which are shown once. All other sessions end.

    Raises LoggedOut.
    """
    assert caller.viewer.account is not None
    id = caller.viewer.account.id
    codes, digests = two_factor.new_recovery_codes()

    def change(account: Account, credentials: Credentials) -> After:
        return account, replace(credentials, totp=secret, step=step, recovery=digests)

    await change_account(accounts, id, change, session=caller.viewer.session)
    return codes


async def edit_account(
    accounts: Accounts, id: str, changes: Changes, session: str = ""
) -> Account | None:
    """Make all these changes, or none; the account before, None if it does not exist. Another role
    ends its sessions; a new password, or `ends_sessions`, all except this account's own session of
    the request.

    Raises LoggedOut, BadRequest, UserExists, LastWayIn, LastAdministrator, Unavailable, Busy.
    """
    password = await _hashed(accounts, id, changes)

    def change(account: Account, credentials: Credentials) -> After:
        return _edited(account, changes), _reset(
            credentials, changes, password or credentials.password
        )

    return await change_account(
        accounts, id, change, session=session, revokes=changes.ends_sessions
    )


async def _hashed(accounts: Accounts, id: str, changes: Changes) -> str:
    """The hash of the new password; "" if there is none. Raises BadRequest, Busy."""
    stored = await accounts.store.by_id(id) if changes.password else None
    if stored is None or not changes.password:
        return ""
    client = known_client(f"account {id}")
    return await accounts.passwords.hash(
        changes.password, changes.mail or stored.account.mail, client
    )


def _edited(account: Account, changes: Changes) -> Account:
    return Account(
        account.id,
        changes.role or account.role,
        changes.nick or account.nick,
        changes.mail or account.mail,
        account.link if changes.link is None else changes.link,
        account.avatar if changes.avatar is None else changes.avatar,
        account.label if changes.label is None else changes.label,
    )


def _reset(credentials: Credentials, changes: Changes, password: str) -> Credentials:
    left = {
        name: id for name, id in credentials.identities.items() if name not in changes.forgotten
    }
    if changes.forgotten and not (left or password):
        raise LastWayIn()
    if changes.removes_second_factor:
        credentials = replace(credentials, totp="", step=0, recovery=())
    return replace(credentials, password=password, identities=left)


async def remove_account(accounts: Accounts, id: str) -> bool:
    """Remove an account for good; its comments stay. False if it does not exist.

    Raises LastAdministrator.
    """
    return await change_account(accounts, id, lambda account, credentials: None) is not None


async def change_account(
    accounts: Accounts,
    id: str,
    change: Update,
    *,
    used: UsedLink | None = None,
    revokes: bool = False,
    session: str = "",
) -> Account | None:
    """Replace an account by the result of this function; the account before, None if it does not
    exist. A link is used up only if that succeeds. `session` is this account's own session of the
    request: a new password or two-factor secret, or `revokes`, ends all others.

    Raises LinkExpired, LoggedOut, UserExists, IdentityTaken, LastAdministrator, Unavailable.
    """
    for _ in range(MAX_READINGS):
        stored = await accounts.store.by_id(id)
        if stored is None:
            return None
        account = stored.account
        after = change(account, stored.credentials)
        asks_more = used or revokes or session
        if after == (account, stored.credentials) and not asks_more:
            return account
        is_seen = after is None or _face(accounts.display, account) != _face(
            accounts.display, after[0]
        )
        since_ms = accounts.process.clock() if is_seen else 0
        mails = canonical(account.mail), canonical(after[0].mail if after else "")
        ended = _ended(stored, after, session, revokes=revokes)
        try:
            await accounts.store.change(
                stored, after, mails=mails, used=used, unseen_since=since_ms, **ended
            )
        except Changed:
            continue
        if is_seen:
            accounts.tell(id, since_ms)
        return account
    raise Unavailable()


class Ended(TypedDict):
    """Which sessions of an account end by a change, for the store."""

    session: str
    revokes: bool
    keeps: bool


def _ended(before: StoredAccount, after: After | None, session: str, *, revokes: bool) -> Ended:
    """Which sessions end: all, or all except the one that requests a new password or two-factor
    secret, or just their end."""
    is_over, credentials, is_renewed = after is None, before.credentials, revokes
    if after is not None:
        is_over |= after[0].role not in MAY_LOG_IN or after[0].role != before.account.role
        is_renewed |= after[1].password != credentials.password or after[1].totp not in (
            "",
            credentials.totp,
        )
    return Ended(
        session=session, revokes=is_over or is_renewed, keeps=bool(session) and not is_over
    )


def _face(display: DisplayOptions, account: Account) -> Account:
    """What readers see of it; of the email, the picture that is made of it."""
    avatar = display.avatar_of(account)
    return replace(account, mail="", avatar=avatar)

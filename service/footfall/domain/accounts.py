"""Accounts: what of them may change, and what follows from it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..errors import LastWayIn, Unavailable, WrongCode
from ..model import MAY_LOG_IN, Account, Caller, Credentials, Role, iso
from ..store.accounts import Changed, Held, Stored
from ..store.ids import created_ms, is_short
from . import refresh, two_factor
from .attempts import attempt
from .mails import canonical
from .service import Service

After = tuple[Account, Credentials]
# What an account becomes; None: it is removed.
Change = Callable[[Account, Credentials], After | None]
# How often to read again what somebody else has changed meanwhile.
MAX_READINGS = 5


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
    service: Service, id: str, change: Change, *, held: Held | None = None, revokes: bool = False
) -> Account | None:
    """Put in an account's place what this makes of it; what it was, None if there is none. A link
    is used up with that, and not without. `revokes` ends its sessions in any case.

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
                revokes=revokes or after is None or _is_locked_out(stored, *after),
                unseen_since=since_ms,
                held=held,
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
    avatar = service.display.avatar_of(account)
    return replace(account, mail="", avatar=avatar)

"""Changes for which a session alone is not enough, since a token may have been copied.

Callers who change how to log in to an account, their own or as an administrator another one,
authenticate again: by a code, with two-factor authentication; otherwise by the password; and
without either by a recent login through another service. The two-factor secret of one's own account
is replaced or removed by a code alone.
"""

from dataclasses import dataclass

from ...errors import (
    CodeRequired,
    LoggedOut,
    LogInRequired,
    PasswordRequired,
    WrongCode,
    WrongCurrentPassword,
)
from ...limits.buckets import TokenBuckets
from ...limits.clients import known_client
from ...model import MODERATORS, Account, Caller, Credentials, Role, Viewer
from ..noun import Accounts
from . import two_factor
from .attempts import Attempt, attempt
from .changes import After, Changes, change_account
from .sessions import PASSWORD, Sessions

# A session by another service counts as proof for this long after its start.
FRESH_MINUTES = 10


@dataclass(frozen=True, slots=True)
class OwnerProof:
    """The proof beside a token: the current password, or a code."""

    password: str = ""
    code: str = ""


def needed_for(credentials: Credentials) -> str:
    """The proof that an account needs: `code`, `password`, or `log-in` by another service."""
    if credentials.totp:
        return "code"
    return "password" if credentials.password else "log-in"


async def require(
    accounts: Accounts, proof: OwnerProof, caller: Caller, *, of_second_factor: bool = False
) -> None:
    """Verify that the caller is the owner of their account, and not only holds one of its tokens. A
    code is used up.

    Raises LoggedOut, PasswordRequired, CodeRequired, LogInRequired, TooManyAttempts,
    WrongCurrentPassword, WrongCode, Unavailable, Busy.
    """
    viewer = caller.viewer
    stored = await accounts.store.by_id(viewer.account.id) if viewer.account else None
    if stored is None:
        raise LoggedOut()
    credentials = stored.credentials
    is_code = bool(proof.code or of_second_factor or not (credentials.password and proof.password))
    if credentials.totp and is_code:
        await _use_up(accounts, proof.code, caller)
    elif credentials.password:
        await _compare(accounts, proof.password, credentials.password, caller)
    else:
        await _require_fresh(accounts.sessions, viewer, accounts.process.clock())


async def _use_up(accounts: Accounts, code: str, caller: Caller) -> None:
    if not code:
        raise CodeRequired()
    made = await _attempt(accounts.buckets, caller)
    viewer = caller.viewer
    assert viewer.account is not None

    def change(account: Account, credentials: Credentials) -> After:
        left = two_factor.spent(credentials, code, accounts.process.clock())
        if left is None:
            raise WrongCode()
        return account, left

    await change_account(accounts, viewer.account.id, change, session=viewer.session)
    made.succeeded(viewer.account.id)


async def _compare(accounts: Accounts, password: str, stored: str, caller: Caller) -> None:
    if not password:
        raise PasswordRequired()
    made = await _attempt(accounts.buckets, caller)
    assert caller.viewer.account is not None
    id = caller.viewer.account.id
    client = known_client(f"account {id}")
    is_right, _ = await accounts.passwords.verify(password, stored, client)
    if not is_right:
        raise WrongCurrentPassword()
    made.succeeded(id)


async def _require_fresh(sessions: Sessions, viewer: Viewer, now_ms: int) -> None:
    assert viewer.account is not None
    since_ms = now_ms - FRESH_MINUTES * 60_000
    fresh = {
        session.id
        for session in await sessions.of(viewer.account)
        if session.started_ms > since_ms and session.by not in ("", PASSWORD)
    }
    if viewer.session not in fresh:
        raise LogInRequired()


async def _attempt(buckets: TokenBuckets, caller: Caller) -> Attempt:
    # Of this session alone: a copied token cannot lock out the owner.
    return await attempt(buckets, caller, f"proof {caller.viewer.session}")


async def require_for(
    accounts: Accounts,
    id: str,
    changes: Changes,
    role: Role | None,
    proof: OwnerProof,
    caller: Caller,
) -> None:
    """Like `require`, if this change of an account grants access: to one's own, or as an
    administrator to another."""
    stored = await accounts.store.by_id(id)
    if stored is None:
        return
    is_own = caller.viewer.account is not None and id == caller.viewer.account.id
    if _is_guarded(changes, stored.account, stored.credentials, role):
        off = is_own and changes.removes_second_factor and bool(stored.credentials.totp)
        await require(accounts, proof, caller, of_second_factor=off)


def _is_guarded(
    changes: Changes, account: Account, credentials: Credentials, role: Role | None
) -> bool:
    """Would this grant another person access, or more permissions? Bans and labels would not."""
    return bool(
        changes.password
        or changes.mail not in (None, account.mail)
        or (changes.removes_second_factor and credentials.totp)
        or changes.forgotten & credentials.identities.keys()
        or (role not in (None, account.role) and (role in MODERATORS or account.role in MODERATORS))
    )

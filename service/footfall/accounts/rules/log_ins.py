"""Logging in by email and password.

The answer does not reveal whether an email has an account: all failures look alike and take equally
long.
"""

import asyncio
from dataclasses import replace

from ...errors import Denied
from ...limits.clients import PoolClient, known_client, pool_client_of
from ...model import MAY_LOG_IN, Caller, Credentials, Viewer
from ...telemetry.pauses import pause
from ..noun import Accounts
from ..store.accounts import Changed, StoredAccount
from . import attempts, two_factor
from .attempts import Attempt
from .changes import MAX_READINGS
from .mails import canonical

# A login that fails is answered so long after it came, whatever was wrong.
FAILED_SECONDS = 0.5


async def by_password(
    accounts: Accounts, mail: str, password: str, code: str, caller: Caller, *, device: str = ""
) -> tuple[StoredAccount, str]:
    """The account with this email, and a token; `device` tells a browser
    (accounts/rules/devices.py).

    Raises TooManyAttempts, Banned, Denied, Busy.
    """
    started = asyncio.get_running_loop().time()
    compared = canonical(mail)
    accounts.bans.look()
    stored = await accounts.store.by_mail(compared)
    if stored and _lacks_code(stored, code):
        # Such a login amounts to asking whether a code is needed. No password is compared, so
        # neither the answer nor the remaining attempts reveal whether it is right.
        await attempts.ask(accounts.buckets, caller)
    else:
        made, client = await _attempt(
            accounts, compared, stored.id if stored else "", caller, device
        )
        outcome = await _logged_in(accounts, compared, password, code, caller, client)
        if outcome:
            made.succeeded(outcome[0].id)
            await accounts.devices.remember(outcome[0].id, caller)
            return outcome
    await pause(started + FAILED_SECONDS - asyncio.get_running_loop().time())
    raise Denied()


async def _attempt(
    accounts: Accounts, mail: str, id: str, caller: Caller, device: str
) -> tuple[Attempt, PoolClient]:
    """An attempt, and whose turn it is to compare its password. Raises TooManyAttempts."""
    if browser := await accounts.devices.browser(id, device):
        made = await attempts.attempt_of_browser(accounts.buckets, f"browser {browser}")
        # All of an account's together, since everybody may register, and log in from many.
        return made, known_client(f"browsers of {id}")
    place = await accounts.devices.place(id, caller)
    made = await attempts.attempt(accounts.buckets, caller, mail, f"place {place}" if place else "")
    return made, known_client(f"places of {id}") if place else pool_client_of(caller)


async def _logged_in(
    accounts: Accounts, mail: str, password: str, code: str, caller: Caller, client: PoolClient
) -> tuple[StoredAccount, str] | None:
    """The account and a token, if that is its password and code. Raises Banned, Busy."""
    for _ in range(MAX_READINGS):
        try:
            outcome = await _proven(accounts, mail, password, code, client)
            if outcome is None:
                return None
            # Not before: strangers learn nothing, and administrators may always log in.
            await accounts.bans.require_none(replace(caller, viewer=Viewer(outcome[0].account)))
            return outcome[0], await accounts.sessions.start(*outcome, caller=caller)
        except Changed:
            # By a login at the same moment with the same code, or by its owner.
            continue
    return None


async def _proven(
    accounts: Accounts, mail: str, password: str, code: str, client: PoolClient
) -> tuple[StoredAccount, Credentials] | None:
    """The account, if password and code are right, and its credentials afterwards."""
    stored = await accounts.store.by_mail(mail)
    credentials = stored.credentials if stored else Credentials()
    is_right, renewed = await accounts.passwords.verify(password, credentials.password, client)
    if stored is None or not is_right or stored.account.role not in MAY_LOG_IN:
        return None
    left = two_factor.left_after(
        replace(credentials, password=renewed) if renewed else credentials,
        code,
        accounts.process.clock(),
    )
    return (stored, left) if left else None


def _lacks_code(stored: StoredAccount, code: str) -> bool:
    return bool(stored.credentials.totp) and not code


async def has_second_factor(
    accounts: Accounts, mail: str, caller: Caller, *, device: str = ""
) -> bool:
    """Does a login with this email need a code? False also without an account.

    A browser that the account knows may always ask. Raises TooManyAttempts.
    """
    stored = await accounts.store.by_mail(canonical(mail))
    if stored is None or not await accounts.devices.browser(stored.id, device):
        await attempts.ask(accounts.buckets, caller)
    return stored is not None and _lacks_code(stored, code="")

"""Logging in by mail and password.

Nobody learns here whether a mail has an account: a log-in that fails says nothing, and takes as
long whatever was wrong.
"""

import asyncio
from dataclasses import replace

from ..errors import Denied
from ..model import MAY_LOG_IN, Caller, Credentials, Viewer
from ..store.accounts import Changed, Stored
from . import two_factor
from .accounts import MAX_READINGS
from .attempts import attempt
from .mails import canonical
from .service import Service

# A log-in that fails is answered so long after it came, whatever was wrong.
FAILED_SECONDS = 0.5


async def by_password(
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
                return found[0], await service.sessions.begin(*found, caller=caller)
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

"""Attempts to prove something: how many one address may make, and how many one account may see."""

from ..driver.batch_kinds import Rate
from ..errors import TooManyAttempts
from ..model import Caller
from ..netaddr import limit_key
from .service import Service

# Attempts to prove something: so many at once, and one more every so many seconds. An address has
# fewer than an account, whose owner others could otherwise keep out.
ADDRESS_RATE = Rate(1 / 30, 20)
ACCOUNT_RATE = Rate(1 / 30, 100)


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

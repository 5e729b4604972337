"""Who may change a counter: anybody may count up, and take back a reaction; views only rise.

A page view cannot be undone by the public, since whoever can count down can wipe a site's numbers.
"""

import asyncio
from collections.abc import Sequence

from ..errors import NoRoom, TooMany
from ..model import Caller
from ..store.connect import deliver
from ..store.lots import Counts
from .moderation import require_administrator
from .service import Service

VIEWS = "time"


async def change(
    service: Service, changes: Sequence[tuple[str, str, int]], caller: Caller
) -> list[int]:
    """Apply (path, type, delta) changes, all or none; the new counts, in order.

    Raises Unauthorized or Forbidden for views counted down by anybody but an administrator; TooMany
    for an address that changes more than it may, NoRoom for a new counter that is one too many.
    """
    if lowers_views(changes):
        require_administrator(caller.viewer)
    await charge(service, caller.address, len(changes))
    counters = service.store.counters
    if not await service.store.room.admits([name for name, _ in counters.changes(changes)]):
        raise NoRoom()
    return await counters.add(changes)


async def charge(service: Service, address: str, tokens: int) -> None:
    """Let an address pay for so many changes, if it has to. Raises TooMany."""
    payer = service.tolls.payer(address)
    if not payer:
        return
    future: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
    pay(service, payer, tokens, deliver(future))
    await future


def pay(service: Service, payer: str, tokens: int, done: Counts) -> None:
    """Hears TooMany if the payer has to wait."""

    def spent(waits: list[int] | Exception) -> None:
        done(TooMany(waits[0]) if isinstance(waits, list) and waits[0] else waits)

    assert service.tolls.rate is not None
    service.store.gate.spend(payer, tokens, service.tolls.rate, spent)


def lowers_views(changes: Sequence[tuple[str, str, int]]) -> bool:
    return any(type == VIEWS and delta < 0 for _, type, delta in changes)

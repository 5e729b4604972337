"""Who may change a counter: anybody may count up and take back a reaction, but views only rise.

If the public could count views down, anybody could set a site's numbers to zero.
"""

import asyncio
from collections.abc import Sequence

from ..driver.batch_kinds import CountsCallback
from ..driver.client import fulfil
from ..errors import NoRoom, TooMany
from ..model import Caller
from .rules import require_administrator
from .site import Site

VIEWS = "time"


async def change(site: Site, changes: Sequence[tuple[str, str, int]], caller: Caller) -> list[int]:
    """Apply (path, type, delta) changes, all or none; returns the new counts, in order.

    Raises Unauthorized or Forbidden if anybody but an administrator counts views down, TooMany if
    the address makes too many changes or too many new counters, NoRoom if there is no room for a
    new counter.
    """
    if lowers_views(changes):
        require_administrator(caller.viewer)
    await charge(site, caller.address, len(changes))
    counters, quota = site.counters, site.quota
    named = counters.changes(changes)
    names = [name for name, _ in named]
    client_key = site.rate_limits.client_key(caller.address)
    wait_ms = site.rate_limits.wait_ms(client_key)
    if wait_ms and not await quota.are_known(names):
        raise TooMany(wait_ms, "New pages are counted too fast from this address")
    if not await quota.allows(names):
        raise NoRoom()
    counts = await counters.add(changes)
    if client_key and 1 in counts:
        charge_new(site, client_key, named, counts)
    return counts


def charge_new(
    site: Site, client_key: str, changes: Sequence[tuple[str, int]], counts: Sequence[int]
) -> None:
    """Take a client's tokens for the counters that these (name, delta) changes have created.

    It does not wait for Redis.
    """
    new_ones = site.rate_limits.new
    each = zip(changes, counts, strict=True)
    # A count of 1 after +1 means a new counter, or an old one that had fallen to 0: that is rare.
    new = sum(count == 1 and delta == 1 for (_, delta), count in each)
    if new_ones is None or not new or new_ones.covers(client_key, new):
        return
    owed = new_ones.claim(client_key)

    def taken(waits: list[int] | Exception) -> None:
        if owed:
            new_ones.settle(client_key, is_paid=isinstance(waits, list))
        if isinstance(waits, list):
            site.rate_limits.owes(client_key, waits[0])

    site.cooldown.owe(client_key, owed + new, new_ones.rate, taken)


async def charge(site: Site, address: str, tokens: int) -> None:
    """Take tokens from an address that has a limit. Raises TooMany."""
    client_key = site.rate_limits.client_key(address)
    if not client_key or site.rate_limits.covers(client_key, tokens):
        return
    future: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
    pay(site, client_key, tokens, fulfil(future))
    await future


def pay(site: Site, client_key: str, tokens: int, done: CountsCallback) -> None:
    """Take a client's tokens in Redis, when its allowance does not cover them.

    Calls `done` with the result of the script, or with TooMany.
    """
    allowance = site.rate_limits.changes
    assert allowance is not None
    owed = allowance.claim(client_key)

    def spent(waits: list[int] | Exception) -> None:
        is_paid = isinstance(waits, list) and not waits[0]
        if owed:
            allowance.settle(client_key, is_paid=is_paid)
        done(TooMany(waits[0]) if isinstance(waits, list) and waits[0] else waits)

    # Never more than a full bucket holds, since that could never be taken.
    together = min(owed + tokens, max(tokens, allowance.rate.at_once))
    site.cooldown.take_tokens(client_key, together, allowance.rate, spent)


def lowers_views(changes: Sequence[tuple[str, str, int]]) -> bool:
    return any(type == VIEWS and delta < 0 for _, type, delta in changes)

"""Who may change a counter: anybody may count up and take back a reaction, but views only rise.

If the public could count views down, anybody could set a site's numbers to zero.

The rule is written in callbacks, since busy sites count thousands of views a second.
"""

from collections.abc import Sequence
from functools import partial

from ..callbacks import awaited
from ..driver.packed import PackedChange
from ..driver.script_calls import CountsCallback
from ..errors import NoRoom, TooMany
from .clients import Client
from .site import Site

VIEWS = "time"


def change(site: Site, change: PackedChange, client: Client, done: CountsCallback) -> None:
    """Apply changes, all or none; `done` gets the new counts, in order.

    Or it gets TooMany if the client makes too many changes or too many new counters, NoRoom if
    there is no room for a new counter, StoreUnavailable. A client without a key has no limit.
    """
    limits = site.rate_limits
    client_key, visitor = client
    if client_key:
        done = partial(_counted, site, change, client_key, done)
        if not limits.covers(client_key, change.size):
            paid = partial(_paid, site, change, client, done)
            return _pay(site, client_key, change.size, paid)
    if site.quota.is_full or client_key in limits.owing:
        site.process.background.start(_change_known(site, change, client, done))
    else:
        site.counters.send(change, done, visitor)


def _paid(
    site: Site,
    change: PackedChange,
    client: Client,
    done: CountsCallback,
    waits: list[int] | Exception,
) -> None:
    if isinstance(waits, Exception):
        done(waits)
    else:
        site.process.background.start(_change_known(site, change, client, done))


async def _change_known(
    site: Site, change: PackedChange, client: Client, done: CountsCallback
) -> None:
    """The same where new counters may be refused: Redis is asked first which these are."""
    names = [name for name, _ in change.changes]
    wait_ms = site.rate_limits.wait_ms(client.key)
    try:
        if wait_ms and not await site.quota.are_known(names):
            raise TooMany(wait_ms, "New pages are counted too fast from this address")
        if not await site.quota.allows(names):
            raise NoRoom()
        site.counters.send(change, done, client.visitor)
    except Exception as error:
        done(error)


def _counted(
    site: Site,
    change: PackedChange,
    client_key: str,
    done: CountsCallback,
    counts: list[int] | Exception,
) -> None:
    if isinstance(counts, list) and 1 in counts:
        _charge_new(site, client_key, change.changes, counts)
    done(counts)


def _charge_new(
    site: Site, client_key: str, changes: Sequence[tuple[str, int]], counts: Sequence[int]
) -> None:
    """Take a client's tokens for the counters that these (name, delta) changes have created.

    It does not wait for Redis.
    """
    new_ones = site.rate_limits.new
    each = zip(changes, counts, strict=True)
    # A count of 1 after +1 means a new counter, since a count of 0 is not stored.
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
    if client_key and not site.rate_limits.covers(client_key, tokens):
        await awaited(partial(_pay, site, client_key, tokens))


def _pay(site: Site, client_key: str, tokens: int, done: CountsCallback) -> None:
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
    """Do some of these (path, type, delta) changes need an administrator?"""
    return any(type == VIEWS and delta < 0 for _, type, delta in changes)

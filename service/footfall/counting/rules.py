"""Permissions for counters: anyone may count up and undo a reaction, but views only rise.

If the public could lower views, anyone could reset a site's numbers to zero.

This rule uses callbacks, since busy sites count thousands of views per second.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ..callbacks import awaited
from ..counters import VIEWS
from ..driver.background import Background
from ..driver.script_calls import CountsCallback
from ..errors import NoRoom, TooMany
from ..limits.buckets import TokenBuckets, of_client
from ..model import NO_VIEWS
from .clients import Clients, CountingClient
from .limits import RateLimits
from .packed import PackedChange
from .quota import CounterNumbers, CounterQuota
from .store import Counters, CounterWalk
from .unknown_proxies import UnknownProxies


@dataclass(frozen=True, slots=True)
class Counting:
    """The counters of a site, with permissions and rate limits."""

    counters: Counters
    walk: CounterWalk
    numbers: CounterNumbers
    quota: CounterQuota
    limits: RateLimits
    buckets: TokenBuckets
    clients: Clients
    # The types of counters: views and reactions.
    types: tuple[str, ...]
    # The path by which a page is counted, of the one that a client sent.
    page_of: Callable[[str], str]
    # Hosts of the site itself, which are not sources of views.
    own_hosts: frozenset[str]
    background: Background
    unknown_proxies: UnknownProxies

    def change(self, change: PackedChange, client: CountingClient, done: CountsCallback) -> None:
        """Apply changes, all or none; `done` gets the new counts, in order.

        Or it gets TooMany if the client makes too many changes or creates too many counters, NoRoom
        if there is no space for a new counter, StoreUnavailable. A client without a key has no
        limit.
        """
        key = client.key
        if key and not self.limits.covers(key, change.size):
            return self._pay(key, change.size, partial(self._paid, change, client, done))
        if self.quota.is_full or (self.limits.owing and self.limits.wait_ms(key)):
            self.background.start(self._change_known(change, client, done))
        else:
            self.counters.send(change, done, client)

    def _paid(
        self,
        change: PackedChange,
        client: CountingClient,
        done: CountsCallback,
        waits: list[int] | Exception,
    ) -> None:
        if isinstance(waits, Exception):
            done(waits)
        else:
            self.background.start(self._change_known(change, client, done))

    async def _change_known(
        self, change: PackedChange, client: CountingClient, done: CountsCallback
    ) -> None:
        """Make changes while new counters may be rejected: query Redis first which these are."""
        names = [name for name, _ in change.changes]
        wait_ms = self.limits.wait_ms(client.key)
        try:
            if wait_ms and not await self.quota.are_known(names):
                raise TooMany(
                    wait_ms,
                    "Too many new pages are counted from this address",
                    limit="NEW_COUNTER_RATE",
                )
            if not await self.quota.allows(names):
                raise NoRoom()
            self.counters.send(change, done, client)
        except Exception as error:
            done(error)

    async def charge(self, address: str, tokens: int) -> None:
        """Take tokens from an address that has a limit. Raises TooMany."""
        key = self.limits.client_key(address)
        if key and not self.limits.covers(key, tokens):
            await awaited(partial(self._pay, key, tokens))

    def _pay(self, key: str, tokens: int, done: CountsCallback) -> None:
        """Take a client's tokens in Redis, when its allowance does not cover them. `done` gets [0]
        or TooMany."""
        allowance = self.limits.changes
        assert allowance is not None
        rate = allowance.rate

        def take(owed: int, taken: CountsCallback) -> None:
            # Never more than a full bucket holds, since that could never be taken.
            together = min(owed + tokens, max(tokens, rate.capacity))
            self.buckets.take(of_client(key, rate), together, taken)

        def paid(waits: list[int] | Exception) -> None:
            done(TooMany(waits[0]) if isinstance(waits, list) and waits[0] else waits)

        allowance.settle(key, take, paid)


def lowers_views(changes: Sequence[tuple[str, str, int]]) -> bool:
    """Do some of these (path, type, delta) changes need an administrator?"""
    return any(type in (VIEWS, NO_VIEWS) and delta < 0 for _, type, delta in changes)

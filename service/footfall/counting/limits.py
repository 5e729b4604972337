"""The rate limit of counters: every change takes a token of its address's bucket.

The limit stops clients that inflate counts by the million; a household or an office stays far below
it. Trusted proxies' own addresses have none: a proxy that does not forward its clients' addresses
would count as one visitor.

The first changes of an address take no tokens in Redis: each worker grants it an allowance
(limits/allowance.py), and takes those tokens, too, once they are used up.

New counters have a much lower limit, since each takes memory for good. Whether a counter is new is
known only after it was counted, so its token is taken afterwards, and an address may owe tokens.
While it does, Redis is queried first whether the counters exist.
"""

import time
from functools import lru_cache

from ..driver.script_calls import Rate
from ..limits.allowance import Allowance
from ..netaddr import Networks, network_key

# A full bucket holds the tokens of this many seconds.
SAVED_SECONDS = 10
# And at least as many as one request may change counters (http.params.MAX_PATHS).
MIN_BURST_CHANGES = 200
# A full bucket of tokens for new counters.
NEW_BURST_COUNTERS = 200
# After so many seconds' worth of new counters an address gets tokens for further ones so much more
# slowly, for about a day: at NEW_COUNTER_RATE all day a /48 would fill COUNTER_LIMIT.
LATER_SECONDS, SLOWER = 4_000, 20
# Addresses that are remembered as owing tokens for new counters.
MAX_KEPT_DEBTORS = 8192


@lru_cache(4)
def later(rate: Rate) -> Rate:
    """For what an address starts later that day."""
    return Rate(rate.per_second / SLOWER, rate.capacity + round(LATER_SECONDS * rate.per_second))


@lru_cache(4)
def last(rate: Rate) -> Rate:
    """For the last of the quota: an address waits for each token that it has taken."""
    return Rate(rate.per_second / SLOWER, 0)


class RateLimits:
    """An address may make `a_second` changes and `new_a_second` new counters; 0 means no limit.

    `owing` has the clients and the networks of IPv6 that owe tokens for new counters, as far as
    this process knows, and until when in seconds of the monotonic clock.
    """

    def __init__(self, a_second: float, new_a_second: float, exempt: Networks) -> None:
        self.changes = self.new = None
        if a_second:
            self.changes = Allowance(
                Rate(a_second, max(MIN_BURST_CHANGES, round(SAVED_SECONDS * a_second)))
            )
        if new_a_second:
            self.new = Allowance(Rate(new_a_second, NEW_BURST_COUNTERS))
        # (client, tokens) -> may the client make this many changes without taking tokens in Redis?
        self.covers = self.changes.covers if self.changes else _covers_all
        self.owing: dict[str, float] = {}
        self.are_on = self.changes is not None or self.new is not None
        self._exempt = exempt

    def client_key(self, address: str) -> str:
        """The client whose tokens an address takes; "" if it needs none."""
        if not address or not self.are_on:
            return ""
        return self._exempt.limit_key_outside(address)

    def lone_address(self, forwarded: bytes) -> str:
        """The address in X-Forwarded-For, if it is one of IPv4 that is certainly not exempt; else
        ""."""
        try:
            return self._exempt.outside(forwarded.decode())
        except (OSError, ValueError):
            return ""

    def owes(self, client_key: str, wait_ms: int) -> None:
        """Note that a client, or a /48, owes tokens for new counters for the next `wait_ms`; 0: for
        none."""
        self.owing.pop(client_key, None)
        if wait_ms:
            if len(self.owing) >= MAX_KEPT_DEBTORS:
                # A client that is forgotten here is noted again with its next new counter.
                del self.owing[next(iter(self.owing))]
            self.owing[client_key] = time.monotonic() + wait_ms / 1000

    def wait_ms(self, client_key: str) -> int:
        """How long a client, or the /48 around it, still owes tokens; 0 if it owes none."""
        return max(self._wait_ms(client_key), self._wait_ms(network_key(client_key)))

    def _wait_ms(self, key: str) -> int:
        until = self.owing.get(key)
        if until is None:
            return 0
        left = round((until - time.monotonic()) * 1000)
        if left <= 0:
            del self.owing[key]
        return max(0, left)


def _covers_all(client_key: str, tokens: int) -> bool:
    return True

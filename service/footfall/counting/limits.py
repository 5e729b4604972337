"""The rate limit of counters: every change takes a token of its address's bucket.

The limit stops clients that inflate counts by the million; a household or an office stays far below
it. Trusted proxies' own addresses have none: a proxy that does not forward its clients' addresses
would count as one visitor.

Buckets are in Redis, shared by all services. The first changes of an address take no tokens there:
each worker grants it an allowance, and takes those tokens, too, once they are used up. So most
visitors cost no extra round trip, and an address can exceed its bucket by one allowance per worker
at most.

New counters have a much lower limit, since each takes memory for good. Whether a counter is new is
known only after it was counted, so its token is taken afterwards, and an address may owe tokens.
While it does, Redis is queried first whether the counters exist.
"""

import time
from functools import lru_cache, partial

from ..driver.script_calls import Rate
from ..netaddr import Networks, network_key, place_of

# A full bucket holds the tokens of this many seconds.
SAVED_SECONDS = 10
# And at least as many as one request may change counters (http.params.MAX_PATHS).
MIN_BURST_CHANGES = 200
# A full bucket of tokens for new counters.
NEW_BURST_COUNTERS = 200
# After so many seconds' worth of new counters an address gets tokens for further ones so much more
# slowly, for about a day: at NEW_COUNTER_RATE all day a /48 would fill COUNTER_LIMIT.
LATER_SECONDS, SLOWER = 4_000, 20
# Tokens that an address may use per worker before Redis is queried.
ALLOWANCE_TOKENS = 20
# Allowances are renewed after this time, or later if the rate is low, so that they add at most a
# tenth to the rate of a persistent client.
ALLOWANCE_SECONDS = 10
# Slots of the table of what clients have used of their allowances, a byte each.
ALLOWANCE_SLOTS = 1 << 17
# Addresses that are remembered as owing tokens for new counters.
MAX_KEPT_DEBTORS = 8192


class Allowance:
    """The tokens of one kind that clients have used in this worker without querying Redis.

    A hash table of fixed size, so its memory is bounded. Two clients in one slot share an
    allowance; clients cannot choose their slot. Those of a /48 share a few slots, so that a client
    with all its addresses does not have as many allowances.
    """

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self._window = max(ALLOWANCE_SECONDS, 10 * ALLOWANCE_TOKENS / rate.a_second)
        self._until = float("-inf")
        self._spent = bytearray(ALLOWANCE_SLOTS)
        # Slots whose tokens are being taken in Redis.
        self._claimed = set[int]()

    def covers(self, client_key: str, tokens: int) -> bool:
        """Use tokens of a client's allowance; False if it has not enough."""
        now = time.monotonic()
        if now > self._until:
            self._spent = bytearray(ALLOWANCE_SLOTS)
            self._until = now + self._window
        # For most it is looked up here: to call _slot would take longer than that.
        place = (
            place_of(client_key, ALLOWANCE_SLOTS)
            if ":" in client_key
            else hash(client_key) % ALLOWANCE_SLOTS
        )
        spent = self._spent[place] + tokens
        if spent > ALLOWANCE_TOKENS or place in self._claimed:
            return False
        self._spent[place] = spent
        return True

    def claim(self, client_key: str) -> int:
        """How many tokens a client has used, to be taken in Redis and then settled.

        0 while an earlier claim of the client is not settled, so that no token is taken twice.
        """
        place = _slot(client_key)
        owed = 0 if place in self._claimed else self._spent[place]
        if owed:
            self._claimed.add(place)
        return owed

    def settle(self, client_key: str, *, is_paid: bool) -> None:
        place = _slot(client_key)
        self._claimed.discard(place)
        if is_paid:
            self._spent[place] = 0


_slot = partial(place_of, places=ALLOWANCE_SLOTS)


@lru_cache(4)
def later(rate: Rate) -> Rate:
    """For what an address starts later that day."""
    return Rate(rate.a_second / SLOWER, rate.at_once + round(LATER_SECONDS * rate.a_second))


@lru_cache(4)
def last(rate: Rate) -> Rate:
    """For the last of the quota: an address waits for each token that it has taken."""
    return Rate(rate.a_second / SLOWER, 0)


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

"""What changing a counter costs: a token out of the address's bucket, where there is a limit.

The limit is for strangers who inflate counts by the million, and far above what a household or an
office needs. Trusted proxies' own addresses have none: a proxy that does not say for whom it asks
would otherwise be all visitors in one.

Buckets are in Redis, for all services together. An address's first changes are not asked for there:
each worker lets it have an allowance, and who goes on pays for that, too. So most visitors cost no
trip, and the most that an address can change in any time is what its bucket lets through and one
allowance more for each worker.

New counters have a much lower limit, since each takes memory for good. Whether a counter is new is
known when it has been counted, so they are paid for behind: an address may come to owe for them,
and as long as it does, Redis is asked before whether what it changes is there already.
"""

import time

from ..netaddr import Networks, limit_key
from ..store import Rate

# Seconds that an address may save up for.
SAVED_SECONDS = 10
# Any request may change so many counters at once, whatever the rate.
MIN_BURST_CHANGES = 200
# New counters that an address may save up for.
NEW_BURST_COUNTERS = 200
# Tokens of an address that a worker does not ask for until there are more.
ALLOWANCE_TOKENS = 20
# They are forgotten after so many seconds, or later where the rate is low: whoever comes again and
# again gets no more than a tenth of the rate besides.
FORGOTTEN_SECONDS = 10
# Places for what addresses have spent of their allowance, a byte each.
ALLOWANCE_SLOTS = 1 << 17
# Addresses of which it is known that they owe for counters.
MAX_KEPT_DEBTORS = 8192


class Allowance:
    """What clients have spent here without asking for it, of one kind of tokens.

    There is room for the tokens of so many clients, however many come. Two in one place, which
    nobody outside can choose, share an allowance, and are asked for sooner than each by itself.
    """

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self._window = max(FORGOTTEN_SECONDS, 10 * ALLOWANCE_TOKENS / rate.a_second)
        self._until = float("-inf")
        self._spent = bytearray(ALLOWANCE_SLOTS)
        # Who is just being asked for.
        self._claimed = set[int]()

    def covers(self, client_key: str, tokens: int) -> bool:
        """Spend tokens of a client's allowance, if there are so many."""
        now = time.monotonic()
        if now > self._until:
            self._spent = bytearray(ALLOWANCE_SLOTS)
            self._until = now + self._window
        # Python's hash has a seed of this process's own.
        place = hash(client_key) % ALLOWANCE_SLOTS
        spent = self._spent[place] + tokens
        if spent > ALLOWANCE_TOKENS or place in self._claimed:
            return False
        self._spent[place] = spent
        return True

    def claim(self, client_key: str) -> int:
        """What a client has spent, to be asked for with what goes beyond, and then settled.

        None while others of its tokens are asked for: each is asked for once.
        """
        place = hash(client_key) % ALLOWANCE_SLOTS
        owed = 0 if place in self._claimed else self._spent[place]
        if owed:
            self._claimed.add(place)
        return owed

    def settle(self, client_key: str, *, is_paid: bool) -> None:
        place = hash(client_key) % ALLOWANCE_SLOTS
        self._claimed.discard(place)
        if is_paid:
            self._spent[place] = 0


class RateLimits:
    """`a_second` changes and `new_a_second` new counters an address may make; 0: no limit.

    `owing` holds whoever owes for new counters, as far as this process knows, and until when, by
    the monotonic clock.
    """

    def __init__(self, a_second: float, new_a_second: float, exempt: Networks) -> None:
        self.changes = self.new = None
        if a_second:
            self.changes = Allowance(
                Rate(a_second, max(MIN_BURST_CHANGES, round(SAVED_SECONDS * a_second)))
            )
        if new_a_second:
            self.new = Allowance(Rate(new_a_second, NEW_BURST_COUNTERS))
        self.owing: dict[str, float] = {}
        self._exempt = exempt

    def client_key(self, address: str) -> str:
        """Who pays for an address; nobody if ""."""
        is_free = self.changes is None and self.new is None
        return "" if is_free or not address or address in self._exempt else limit_key(address)

    def covers(self, client_key: str, tokens: int) -> bool:
        """May a client make so many changes without being asked for in Redis?"""
        return self.changes is None or self.changes.covers(client_key, tokens)

    def owes(self, client_key: str, wait_ms: int) -> None:
        """For new counters, for so long."""
        self.owing.pop(client_key, None)
        if wait_ms:
            if len(self.owing) >= MAX_KEPT_DEBTORS:
                # Who is forgotten is known again after the next new counter.
                del self.owing[next(iter(self.owing))]
            self.owing[client_key] = time.monotonic() + wait_ms / 1000

    def wait_ms(self, client_key: str) -> int:
        """How long a client still owes; 0 if it does not."""
        until = self.owing.get(client_key)
        if until is None:
            return 0
        left = round((until - time.monotonic()) * 1000)
        if left <= 0:
            del self.owing[client_key]
        return max(0, left)

"""Allowances: what clients may use in this worker before tokens are taken in Redis.

So most visitors cost no extra round trip, and a client can exceed its bucket by one allowance per
worker at most.
"""

import time
from collections.abc import Callable
from functools import partial

from ..driver.script_calls import CountsCallback, Rate
from ..netaddr import place_of

# Tokens that a client may use per worker before Redis is queried.
ALLOWANCE_TOKENS = 20
# Allowances are renewed after this time, or later if the rate is low, so that they add at most a
# tenth to the rate of a persistent client.
ALLOWANCE_SECONDS = 10
# Slots of the table of what clients have used of their allowances, a byte each.
ALLOWANCE_SLOTS = 1 << 17


class Allowance:
    """The tokens of one kind that clients have used in this worker without querying Redis.

    A hash table of fixed size, so its memory is bounded. Two clients in one slot share an
    allowance; clients cannot choose their slot. Those of a /48 share a few slots, so that a client
    with all its addresses does not have as many allowances.
    """

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self._window = max(ALLOWANCE_SECONDS, 10 * ALLOWANCE_TOKENS / rate.per_second)
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

    def settle(
        self, client_key: str, take: Callable[[int, CountsCallback], None], done: CountsCallback
    ) -> None:
        """Take what a client has used, too, when Redis is queried for more: `take` gets its number
        of tokens, and a callback for [0] if they were taken; `done` gets the same.

        It is 0 while they are being taken already, so that no token is taken twice.
        """
        place = place_of(client_key, ALLOWANCE_SLOTS)
        owed = 0 if place in self._claimed else self._spent[place]
        if not owed:
            return take(0, done)
        self._claimed.add(place)
        take(owed, partial(self._settled, place, done))

    def _settled(self, place: int, done: CountsCallback, waits: list[int] | Exception) -> None:
        self._claimed.discard(place)
        if isinstance(waits, list) and not waits[0]:
            self._spent[place] = 0
        done(waits)

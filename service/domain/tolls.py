"""What changing a counter costs: a token out of the address's bucket, where there is a limit.

The limit is for strangers who inflate counts by the million, and far above what a household or an
office needs. Trusted proxies' own addresses have none: a proxy that does not say for whom it asks
would otherwise be all visitors in one.

New counters have a much lower limit, since each takes memory for good. Whether a counter is new is
known when it has been counted, so they are paid for behind: an address may come to owe for them,
and as long as it does, Redis is asked before whether what it changes is there already.
"""

import time
from functools import lru_cache

from ..store import Rate
from .moderation import Network, is_in, limit_key

# Seconds that an address may save up for.
SAVED = 10
# Any request may change so many counters at once, whatever the rate.
AT_ONCE = 200
KEPT = 8192
# New counters that an address may save up for.
NEW_AT_ONCE = 200


class Tolls:
    """`rate` is of changes, `new_rate` of new counters, each None without a limit.

    `payer` says who pays for an address; nobody if "". `owing` holds whoever owes for new counters,
    as far as this process knows, and until when, by the monotonic clock.
    """

    def __init__(
        self, a_second: float, exempt: tuple[Network, ...], new_a_second: float = 0.0
    ) -> None:
        at_once = max(AT_ONCE, round(SAVED * a_second))
        self.rate = Rate(a_second, at_once) if a_second else None
        self.new_rate = Rate(new_a_second, NEW_AT_ONCE) if new_a_second else None
        self.owing: dict[str, float] = {}
        self._exempt = exempt
        self.payer = lru_cache(KEPT)(self._payer)

    def _payer(self, address: str) -> str:
        is_free = self.rate is None and self.new_rate is None
        if is_free or not address or is_in(address, self._exempt):
            return ""
        return limit_key(address)

    def owes(self, payer: str, wait_ms: int) -> None:
        """For new counters, for so long."""
        self.owing.pop(payer, None)
        if wait_ms:
            if len(self.owing) >= KEPT:
                # Who is forgotten is known again after the next new counter.
                del self.owing[next(iter(self.owing))]
            self.owing[payer] = time.monotonic() + wait_ms / 1000

    def wait_ms(self, payer: str) -> int:
        """How long a payer still owes; 0 if it does not."""
        until = self.owing.get(payer)
        if until is None:
            return 0
        left = round((until - time.monotonic()) * 1000)
        if left <= 0:
            del self.owing[payer]
        return max(0, left)

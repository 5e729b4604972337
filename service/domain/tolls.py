"""What changing a counter costs: a token out of the address's bucket, where there is a limit.

The limit is for strangers who inflate counts by the million, and far above what a household or an
office needs. Trusted proxies' own addresses have none: a proxy that does not say for whom it asks
would otherwise be all visitors in one.
"""

from functools import lru_cache

from ..store import Rate
from .moderation import Network, is_in, limit_key

# Seconds that an address may save up for.
SAVED = 10
# Any request may change so many counters at once, whatever the rate.
AT_ONCE = 200
KEPT = 8192


class Tolls:
    """`rate` is None without a limit. `payer` says who pays for an address; nobody if ""."""

    def __init__(self, a_second: float, exempt: tuple[Network, ...]) -> None:
        at_once = max(AT_ONCE, round(SAVED * a_second))
        self.rate = Rate(a_second, at_once) if a_second else None
        self._exempt = exempt
        self.payer = lru_cache(KEPT)(self._payer)

    def _payer(self, address: str) -> str:
        if self.rate is None or not address or is_in(address, self._exempt):
            return ""
        return limit_key(address)

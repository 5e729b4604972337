"""The number of counters, and COUNTER_LIMIT.

Numbers are exact. The scripts that create and remove counters maintain them: one number for each of
the 256 groups (driver/keys.py) and kind of hash.
"""

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import partial
from random import randrange
from typing import Any, NamedTuple

from ..callbacks import ignore
from ..driver.client import RedisClient
from ..driver.groups import of_all_groups
from ..driver.keys import GROUPS, WEIGHT_UNIT_BYTES, WEIGHTS, Keys, weight
from ..driver.script_calls import CountsCallback
from ..driver.scripts import Scripts
from ..limits.buckets import TokenBuckets, of_client
from ..netaddr import network_key
from ..plurals import number_of
from ..statistics.visits import Visits
from .clients import CountingClient
from .limits import RateLimits, last, later
from .packed import PackedChange

# Statistics add this to a page's counter, for all stored data of its views: half a kilobyte for
# three days, then less for each month in which it is viewed.
DATED_WEIGHT = 6
# The field of a group's numbers with the bytes of visitors.
VISITORS = "visitors"
# The share of the limit that is for visitors in any case, and the last one, which is for those
# alone who have started no counters.
RESERVED = 0.1
# From this share of the limit on, the owner is warned.
ALMOST_FULL = 0.8
# At the limit the numbers are read again at most that often.
FULL_FRESH_SECONDS = 1.0

# Per kind of a group: the stored number of counters, and the true one.
Rows = list[tuple[str, bytes, int]]


class CounterTotals(NamedTuple):
    """Numbers of counters by the kinds of their hashes (driver/keys.py), and about how many bytes
    the visitors of pages take today."""

    by_kind: Mapping[str, int]
    visitor_bytes: int = 0

    @property
    def number(self) -> int:
        return sum(self.by_kind.values())

    @property
    def weight(self) -> int:
        """In the unit of COUNTER_LIMIT."""
        return sum(number * WEIGHTS[kind] for kind, number in self.by_kind.items())


class CounterNumbers:
    """The stored numbers of counters. All methods raise StoreUnavailable."""

    def __init__(self, redis: RedisClient, scripts: Scripts, keys: Keys) -> None:
        self._redis = redis
        self._recount = scripts["counters/recount"]
        self._keys = keys

    async def total(self) -> CounterTotals:
        """The sum of the stored numbers."""
        names = map(self._keys.numbers, range(GROUPS))
        fields = (VISITORS, *WEIGHTS)
        kept = await self._redis.ask_masters(*(("HMGET", name, *fields) for name in names))
        visitors, *columns = zip(*kept, strict=True)
        by_kind = {
            kind: sum(int(number or 0) for number in column)
            for kind, column in zip(WEIGHTS, columns, strict=True)
        }
        return CounterTotals(by_kind, _bytes_today(visitors))

    async def recount(self, *, mends: bool) -> CounterTotals:
        """Read the length of every hash, some hundred per step; with `mends`, correct the stored
        numbers.

        Each group is counted in one step, so every number is right, even while counters are
        created.
        """
        weights = Counter[str]()
        async for _, rows in of_all_groups(partial(self._group, mends=mends)):
            for kind, _, number in rows:
                weights[kind] += number
        return CounterTotals(weights)

    async def recount_one(self) -> None:
        """Recount one group of hashes, any."""
        await self._group(randrange(GROUPS), mends=True)  # noqa: S311 (any group will do)

    async def problems(self, *, repair: bool) -> AsyncIterator[str]:
        """A line for each number that is wrong, for `footfall check`."""
        repaired = " (repaired)" if repair else ""
        async for group, rows in of_all_groups(partial(self._group, mends=repair)):
            for kind, kept, number in rows:
                if kept != b"%d" % number:
                    key, shown = self._keys.numbers(group), kept.decode(errors="replace")
                    yield f"{key} has {shown} for {kind} instead of {number}{repaired}"

    async def _group(self, group: int, *, mends: bool) -> Rows:
        numbers = await self._recount(
            numbers=self._keys.numbers(group), counts=self._keys.counts_in(group), mends=mends
        )
        rows = zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True)
        return [(kind.decode(), kept, number) for kind, kept, number in rows]


def _bytes_today(groups: Iterable[bytes | None]) -> int:
    """The sum of the last day's bytes, of days and bytes."""
    by_day = Counter[bytes]()
    for each in groups:
        day, _, number = (each or b"").partition(b" ")
        if day.isdigit() and number.isdigit():
            by_day[day] += int(number)
    return by_day[max(by_day)] if by_day else 0


class CounterQuota:
    """COUNTER_LIMIT: without it strangers could fill the memory with counters of invented paths.

    `limit` is the weight that all counters together may have (driver/keys.py); 0: no limit. Their
    weight is read once a minute, and again when the new counters that this process has seen since
    may have used up the rest. The visitors of pages take of it, too, for a day.
    """

    def __init__(
        self,
        redis: RedisClient,
        keys: Keys,
        numbers: CounterNumbers,
        limit: int,
        visits: Visits | None = None,
    ) -> None:
        """`visits` if counters of pages have statistics."""
        self._each = DATED_WEIGHT if visits else 0
        self._visits = visits
        self._redis = redis
        self._keys = keys
        self._numbers = numbers
        self._limit = limit
        # The weight that this process has started, and with how much of it the quota is used up.
        self._started = 0
        self._most = limit
        self._read_at = -math.inf
        # True if the quota may be used up, by what this process knows; `allows` makes sure.
        self.is_full = False
        # The share of the limit that was used when it was read last, and by what.
        self.used = 0.0
        self._taking = ""
        # Is what is left for those alone who have started no counters?
        self.is_reserved = False

    def started(self, names: Sequence[str]) -> None:
        """Note that this process has made new counters."""
        self._started += sum(map(weight, names)) + self._each * len(names)
        self.is_full = self._limit > 0 and self._most <= self._started

    @property
    def warning(self) -> str:
        """A warning for the owner long before the limit is reached; "" if none."""
        if self.used < ALMOST_FULL:
            return ""
        what = "are refused" if self.used >= 1 else "will be refused when it is full"
        return (
            f"{self._taking} take {self.used:.0%} of COUNTER_LIMIT, and new "
            f"ones {what}: `footfall counters list` shows what they are, and `footfall counters "
            "prune --below 2` removes those that were raised once"
        )

    async def allows(self, names: Sequence[str]) -> bool:
        """Is there space for these counters, or do all exist already? Raises StoreUnavailable."""
        if not names or not self.is_full:
            return True
        if asyncio.get_running_loop().time() - self._read_at > FULL_FRESH_SECONDS:
            await self.read()
            if not self.is_full:
                return True
        return await self.are_known(names)

    async def are_known(self, names: Sequence[str]) -> bool:
        """Do all of these counters exist? Raises StoreUnavailable."""
        questions = (("HEXISTS", self._keys.counts(name), name) for name in names)
        return not names or all(await self._redis.ask_masters(*questions))

    async def read(self) -> None:
        """Read the number of counters, if there is a limit. Raises StoreUnavailable."""
        if not self._limit:
            return
        self._read_at = asyncio.get_running_loop().time()
        # Before the numbers: counters created meanwhile may count twice, but none is missed.
        started = self._started
        counted = await self._numbers.total()
        taken = counted.weight + self._each * counted.number
        visitors = counted.visitor_bytes // WEIGHT_UNIT_BYTES
        self._most = started + self._limit - taken - visitors
        self.used = (taken + visitors) / self._limit
        today = " and the visitors of today" if visitors else ""
        self._taking = f"{number_of(counted.number, 'counter')}{today}"
        if self._visits:
            # A site whose counters have used it up has visitors all the same.
            room = max(self._limit - taken, self._limit * RESERVED)
            self._visits.are_full = visitors > room
        self.is_reserved = self.used > 1 - RESERVED
        self.started(())


class NewCounters:
    """The cost of new counters: space within the quota, and the client's tokens if there are
    `limits`."""

    def __init__(self, quota: CounterQuota, buckets: TokenBuckets) -> None:
        self._quota = quota
        self._buckets = buckets
        self.limits: RateLimits | None = None

    def started(self, client: CountingClient, change: PackedChange, counts: Sequence[Any]) -> None:
        """Note which counters a client's change has created. It does not wait for Redis."""
        each = zip(change.changes, counts, strict=True)
        # A count of 1 after +1 means a new counter, since a count of 0 is not stored.
        names = [name for (name, delta), count in each if count == 1 and delta == 1]
        if names:
            self._quota.started(names)
        if names and client.key and self.limits:
            self._charge(self.limits, client.key, len(names))

    def _charge(self, limits: RateLimits, key: str, new: int) -> None:
        allowance = limits.new
        if allowance is None:
            return
        if self._quota.is_reserved:
            rates = {"later ": last(allowance.rate)}
        elif allowance.covers(key, new):
            return
        else:
            rates = {"later ": later(allowance.rate), "new ": allowance.rate}

        def take(owed: int, taken: CountsCallback) -> None:
            kinds = (of_client(key, rate, purpose) for purpose, rate in rates.items())
            # Those of the client, and those of its network if it has one.
            both = zip((key, network_key(key)), zip(*kinds, strict=True), strict=False)
            for who, buckets in both:
                self._buckets.owe(buckets, owed + new, partial(note, who, taken))

        def note(who: str, taken: CountsCallback, waits: list[int] | Exception) -> None:
            if isinstance(waits, list):
                limits.owes(who, waits[0])
                waits = [0]
            if who == key:
                taken(waits)

        allowance.settle(key, take, ignore)

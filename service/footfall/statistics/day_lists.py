"""Numbers by name of each day: sources, referrals and classes of visitors.

Each group has a share of a day; the sum of a past day is stored for the site.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..driver.client import RedisClient
from ..driver.keys import GROUPS, Keys
from ..driver.scripts import Script, Scripts
from . import referrals
from .numbered import by_name, hashes
from .source_views import Sources
from .visits import SHARES

Numbers = Mapping[str, int]


class DayLists:
    """`share` is the key of a group's share of a day, for these groups; `together` adds shares up,
    and `total` the key of their stored sum. All coroutines raise StoreUnavailable, and ErrorReply
    for a damaged sum; a damaged share counts as nothing."""

    def __init__(
        self,
        redis: RedisClient,
        keep: Script,
        share: Callable[[int, int], str],
        total: Callable[[int], str],
        together: Callable[[Iterable[Numbers]], Counter[str]],
        groups: Sequence[int] = range(GROUPS),
    ) -> None:
        self._redis = redis
        self._keep = keep
        self._share = share
        self._total = total
        self._together = together
        self._groups = groups

    async def kept(self, days: Sequence[int]) -> list[Counter[str]]:
        """The stored sums of days."""
        sums = await hashes(self._redis, [*map(self._total, days)], spares=True)
        return [Counter(by_name(fields)) for fields in sums]

    async def shares(self, day: int) -> Counter[str]:
        """The sum of a day that was not stored yet, or is not over."""
        keys = [self._share(group, day) for group in self._groups]
        return self._together(map(by_name, await hashes(self._redis, keys, spares=True)))

    async def keep(self, day: int, numbers: Numbers, kept_ms: int) -> None:
        """Store the sum of a day that is over."""
        if numbers:
            counted = [word for item in numbers.items() for word in item]
            await self._keep(sums=self._total(day), kept_ms=kept_ms, counted=counted)

    async def drop(self, day: int) -> None:
        """Remove the shares of a day, whose sum is stored."""
        await self._redis.change(*(("DEL", self._share(group, day)) for group in self._groups))


def sources_of(redis: RedisClient, scripts: Scripts, keys: Keys) -> DayLists:
    """Hosts from which visitors came, as in source_views.py."""

    def together(shares: Iterable[Numbers]) -> Counter[str]:
        return Sources(shares).fields()

    return DayLists(redis, scripts["views/keep"], keys.sources_in, keys.sources, together)


def referrals_of(redis: RedisClient, scripts: Scripts, keys: Keys) -> DayLists:
    """Pages to which visitors came from elsewhere."""
    share, total = keys.referrals_in, keys.referrals
    return DayLists(redis, scripts["views/keep"], share, total, referrals.together)


def audience_of(redis: RedisClient, scripts: Scripts, keys: Keys) -> DayLists:
    """Classes of visitors, as in audience.py: in the groups in which the site's visitors are
    distinguished."""

    def together(shares: Iterable[Numbers]) -> Counter[str]:
        total = Counter[str]()
        for share in shares:
            total.update(share)
        return total

    groups = range(0, GROUPS, GROUPS // SHARES)
    return DayLists(redis, scripts["views/keep"], keys.audience_in, keys.audience, together, groups)

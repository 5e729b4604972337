"""The site's views ever: the sum of all view counters.

Each script that changes view counters adds what it added to a share of the sum, in the same step;
the shares are added up when they are read.
"""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime

from ..counters import VIEWS
from ..driver.client import RedisClient
from ..driver.keys import GROUPS, Keys
from ..driver.walks import walked
from .numbered import is_number, number_or_0

# A field of a group's numbers.
SHARE = "views"
# A field of the data set's format.
UNDATED_IN = "undated"
# Another: pages may have open hours.
DATED = "dated"
# How often a sum is compared that seems to be wrong: counters may be moved or lowered meanwhile.
COMPARISONS = 3
# A share that counts can be added to.
_NUMBER = re.compile(rb"-?\d{1,16}").fullmatch


class EverStore:
    """All methods raise StoreUnavailable."""

    def __init__(self, redis: RedisClient, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def total(self) -> int:
        """A damaged share is empty."""
        return sum(int(share) for share in await self._shares() if share and _NUMBER(share))

    async def _shares(self) -> list[bytes | None]:
        shares = (("HGET", self._keys.numbers(group), SHARE) for group in range(GROUPS))
        return await self._redis.ask_each(*shares, of_masters=True)

    async def restore(self) -> None:
        """Make the sum right in a data set that no other process uses."""
        await self._add(await self._counted() - await self.total())

    async def problems(self, *, repair: bool) -> AsyncIterator[str]:
        """A line if the sum is wrong."""
        for _ in range(COMPARISONS):
            least, counted = await self.total(), await self._counted()
            # While views are counted, the sum is between the ones before and afterwards.
            wrong = counted - min(max(counted, least), await self.total())
            if not wrong:
                return
        if repair:
            await self._drop_damaged()
            await self._add(wrong)
        text = f"the sum of all views is wrong by {-wrong:+,}"
        yield f"{text} (repaired)" if repair else text

    async def _counted(self) -> int:
        total, mark = 0, f"{VIEWS} ".encode()
        async for _, counts in walked(self._redis, self._keys.every_counts()):
            total += sum(
                int(n) for name, n in counts.items() if name.startswith(mark) and is_number(n)
            )
        return total

    async def _drop_damaged(self) -> None:
        """Nothing could be added to such shares."""
        for group, share in enumerate(await self._shares()):
            if share is not None and not _NUMBER(share):
                await self._redis.change(("HDEL", self._keys.numbers(group), SHARE))

    async def _add(self, views: int) -> None:
        if views:
            await self._redis.change(("HINCRBY", self._keys.numbers(0), SHARE, views))

    async def note_undated(self) -> None:
        """Note that views of this month may have no day, as this process counts without them."""
        month = int(f"{datetime.now(UTC):%Y%m}")
        if await self.undated_in() != month:
            await self._redis.change(("HSET", self._keys.site("format"), UNDATED_IN, month))

    async def note_dated(self) -> None:
        """Note that pages may have open hours, as this process counts with statistics."""
        if not await self.is_dated():
            await self._redis.change(("HSET", self._keys.site("format"), DATED, 1))

    async def is_dated(self) -> bool:
        (noted,) = await self._redis.ask_masters(("HGET", self._keys.site("format"), DATED))
        return noted is not None

    async def note_closed(self) -> None:
        """All open hours were closed."""
        await self._redis.change(("HDEL", self._keys.site("format"), DATED))

    async def undated_in(self) -> int:
        """The last month, such as 202611, in which a service without statistics ran; 0 for none."""
        key = self._keys.site("format")
        (month,) = await self._redis.ask_masters(("HGET", key, UNDATED_IN))
        return number_or_0(month)

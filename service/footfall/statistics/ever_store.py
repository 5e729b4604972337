"""The site's views ever: the sum of all view counters.

Each group keeps its own sum in the step that changes its counters (lua/counters/count.lua), but
only while views are dated: a service without statistics keeps none (lua/counters/add.lua). So the
key `ever` confirms the sums. A service that keeps none removes it repeatedly while it runs; one
that keeps them asks, by that key, whether there is such a service, and after a while without an
answer, adds the counters up.
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial

from ..driver.client import RedisClient
from ..driver.groups import of_all_groups
from ..driver.keys import GROUPS, Keys
from ..driver.scripts import Scripts
from .numbered import number_or_0

KNOWN = b"known"
# A field of the data set's format.
UNDATED_IN = "undated"


class ViewsEver:
    """All methods raise StoreUnavailable, and ErrorReply for a damaged key."""

    def __init__(self, redis: RedisClient, scripts: Scripts, keys: Keys) -> None:
        self._redis = redis
        self._recount = scripts["counters/recount_views"]
        self._keys = keys

    async def total(self) -> int | None:
        """None if the sums are not confirmed."""
        numbers = map(self._keys.numbers, range(GROUPS))
        sums = (("HGET", key, "views") for key in numbers)
        state, *sums_read = await self._redis.ask_masters(
            ("GET", self._keys.total_views_state), *sums
        )
        return sum(map(number_or_0, sums_read)) if state == KNOWN else None

    async def state(self) -> bytes | None:
        """KNOWN, or the service that asks whether another one counts without sums, or None."""
        (state,) = await self._redis.ask_masters(("GET", self._keys.total_views_state))
        return bytes(state) if state is not None else None

    async def ask(self, who: str) -> None:
        """Ask, unless another service does; not without a data set, as after FLUSHALL."""
        (born,) = await self._redis.ask_masters(("HGET", self._keys.site("format"), "born"))
        if born is not None:
            await self._redis.change(("SET", self._keys.total_views_state, who, "NX"))

    async def doubt(self) -> None:
        """Invalidate the sums, as this process counts without keeping them; and note that views of
        this month may have no day."""
        if await self.state() is not None:
            await self._redis.change(("DEL", self._keys.total_views_state))
        month = int(f"{datetime.now(UTC):%Y%m}")
        if await self.undated_in() != month:
            await self._redis.change(("HSET", self._keys.site("format"), UNDATED_IN, month))

    async def undated_in(self) -> int:
        """The last month, such as 202611, in which a service without statistics ran; 0 for none."""
        key = self._keys.site("format")
        (month,) = await self._redis.ask_masters(("HGET", key, UNDATED_IN))
        return number_or_0(month)

    async def find(self, state: bytes) -> None:
        """Add up the counters of all groups, and vouch for the sums, unless another state comes
        in between. It may be done often, and by several services: each group is one step."""
        for group in range(GROUPS):
            if await self.state() != state:
                return
            await self._group(group, mends=True)
        # XX: a key that is removed meanwhile stays removed.
        await self._redis.change(("SET", self._keys.total_views_state, KNOWN, "XX"))

    async def restore(self) -> None:
        """Add up the counters of a data set that no other process uses, and confirm the sums."""
        async for _ in of_all_groups(partial(self._group, mends=True)):
            pass
        await self._redis.change(("SET", self._keys.total_views_state, KNOWN))

    async def problems(self, *, repair: bool) -> AsyncIterator[str]:
        """A line for each wrong sum, if the sums are confirmed."""
        if await self.state() != KNOWN:
            return
        repaired = " (repaired)" if repair else ""
        async for group, (kept, counted) in of_all_groups(partial(self._group, mends=repair)):
            if kept != counted:
                key = self._keys.numbers(group)
                yield f"{key} has {kept} for views instead of {counted}{repaired}"

    async def _group(self, group: int, *, mends: bool) -> tuple[str, str]:
        """The stored sum, and the true one."""
        kept, counted = await self._recount(
            numbers=self._keys.numbers(group), counts=self._keys.counts_in(group), mends=mends
        )
        return kept.decode(errors="replace"), counted.decode()

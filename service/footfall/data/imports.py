"""Queries and changes of imports: existing data, and merged counts.

Maximum and replacement can be repeated. For a sum each group of hashes remembers the number of its
batches, for as long as a repetition is likely.
"""

from collections.abc import Sequence
from typing import Any, Literal

from ..comments.store.status import status_of
from ..counting.batch import Clock
from ..driver.client import RedisClient
from ..driver.keys import Keys
from ..driver.scripts import Scripts
from ..errors import StoreUnavailable
from ..ids import split
from ..statistics.moment import Moment

Way = Literal["max", "sum", "replace"]
# (the hash that has it, its name, its count)
Merged = tuple[str, str, int]

REMEMBERED_SECONDS = 30 * 24 * 3600


class Imports:
    """With `moment`, imported counts are views without a day."""

    def __init__(
        self, redis: RedisClient, scripts: Scripts, keys: Keys, moment: Clock | None = None
    ) -> None:
        self._redis = redis
        self._merge = scripts["counters/import"]
        self._keys = keys
        self._moment = moment

    async def are_there(self, ids: Sequence[str]) -> list[bool]:
        """Which of these comments are stored."""
        replies = await self._of_each("HEXISTS", "bodies", ids)
        return list(map(bool, replies))

    async def deleted(self, ids: Sequence[str]) -> list[str]:
        """Which of these comments are deleted, and still stored."""
        statuses = zip(ids, await self._of_each("HGET", "held", ids), strict=True)
        return [id for id, status in statuses if status_of(status) == "deleted"]

    async def _of_each(self, command: str, name: str, ids: Sequence[str]) -> list[Any]:
        halves = map(split, ids)
        return await self._redis.ask_masters(
            *((command, self._keys.page(page, name), short) for short, page in halves)
        )

    def place(self, name: str) -> str:
        """The hash that a counter belongs into."""
        return self._keys.counts(name)

    def group(self, place: str) -> str:
        """Hashes of one group may be in one batch."""
        return Keys.group_of(place.encode()).decode()

    async def added(self, batch: Sequence[Merged], of: str) -> int:
        """How many batches of the sum `of` were added to this one's group."""
        key = self._keys.imported(batch[0][0], of)
        (number,) = await self._redis.ask_masters(("GET", key))
        return int(number or 0)

    async def merge(self, counters: Sequence[Merged], way: Way, *, of: str, number: int) -> int:
        """Merge a batch, the `number`th of its group in the import `of`; returns how many counters
        have changed. The batches of a group come in order."""
        moment = self._moment() if self._moment else None
        days = {name: self._days(name, moment) for _, name, _ in counters}
        places = list(
            dict.fromkeys([place for place, _, _ in counters] + [*filter(None, days.values())])
        )
        index = {place: at for at, place in enumerate(places, 1)} | {"": 0}
        match await self._merge(
            done=self._keys.imported(places[0], of),
            numbers=Keys.numbers_beside(places[0]),
            counts=places,
            way=way,
            number=number,
            kept=REMEMBERED_SECONDS,
            hour=moment.hour if moment else 0,
            days_ms=moment.days_ms if moment else 0,
            merged=[
                word
                for place, name, n in counters
                for word in (index[place], name, n, index[days[name]])
            ],
        ):
            case [b"OK", changed]:
                return int(changed)
            case [b"DONE"]:
                return 0
        # The one before it was lost: all of them are resent when the import is repeated.
        raise StoreUnavailable()

    def _days(self, name: str, moment: Moment | None) -> str:
        """The key of the views of this month, for a view counter; "" if none are stored."""
        type, _, path = name.partition(" ")
        return self._keys.views(path).days(moment.month) if moment and type == "time" else ""

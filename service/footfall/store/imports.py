"""What an import asks and does that nobody else does: what is there already, and merging counts.

The larger count and the replaced one are the same however often they come. For a sum each group of
hashes remembers how many batches of an import it has, for as long as one is likely to be repeated.
"""

from collections.abc import Sequence
from typing import Literal

from ..driver.client import Connected
from ..driver.keys import Keys
from ..driver.scripts import Scripts
from ..errors import StoreUnavailable
from .ids import split
from .indexes import SITE_INDEXES

Way = Literal["max", "sum", "replace"]
# (the hash that has it, its name, its count)
Merged = tuple[str, str, int]

REMEMBERED_SECONDS = 30 * 24 * 3600


class Imports:
    def __init__(self, redis: Connected, scripts: Scripts, keys: Keys) -> None:
        self._redis = redis
        self._merge = scripts["counters/import"]
        self._keys = keys

    async def are_there(self, ids: Sequence[str]) -> list[bool]:
        """Which of these comments are stored."""
        questions = (
            ("HEXISTS", self._keys.page(page, "bodies"), short) for short, page in map(split, ids)
        )
        return list(map(bool, await self._redis.ask_masters(*questions)))

    async def are_listed(self, ids: Sequence[str]) -> list[bool]:
        """Which of these comments were ever announced to the site's indexes."""
        indexes = [self._keys.site(name) for name in SITE_INDEXES]
        scores = await self._redis.ask_masters(*(("ZMSCORE", index, *ids) for index in indexes))
        return [any(score is not None for score in each) for each in zip(*scores, strict=True)]

    def place(self, name: str) -> str:
        """The hash that a counter belongs into."""
        return self._keys.counts(name)

    def group(self, place: str) -> str:
        """Hashes of one group may be in one batch."""
        return Keys.group_of(place.encode()).decode()

    async def merge(self, counters: Sequence[Merged], way: Way, *, of: str, number: int) -> int:
        """Merge a batch, the `number`th of its group in the import `of`; returns how many counters
        have changed. The batches of a group come in order."""
        places = list(dict.fromkeys(place for place, _, _ in counters))
        index = {place: at for at, place in enumerate(places, 1)}
        match await self._merge(
            done=self._keys.imported(places[0], of),
            counts=places,
            way=way,
            number=number,
            kept=REMEMBERED_SECONDS,
            merged=[word for place, name, n in counters for word in (index[place], name, n)],
        ):
            case [b"OK", changed]:
                return int(changed)
            case [b"DONE"]:
                return 0
        # The one before it was lost: all of them are sent again when the import is repeated.
        raise StoreUnavailable()

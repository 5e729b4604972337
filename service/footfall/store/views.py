"""When pages were viewed: a page's views by day, and by hour for three days; the site's by hour.

The script that counts a view notes it in the same step (lua/counters/count.lua), so that the days
of a page add up to its counter. The site's hours are kept in a part for each group of counters,
since a script reaches one slot; once an hour is over, the sum of its parts is kept.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ..driver.client import RedisClient
from ..driver.keys import GROUPS, Keys
from ..driver.packed import Moment
from ..driver.replies import failure
from ..driver.scripts import Scripts

# More than any of these hashes has: one step reads it whole, unless Redis does not keep it packed.
MOST_FIELDS = 1_000
# An hour such as 2026112316 divided by this is its month.
MONTH = 10_000
# As many as may be kept, the current one, and one that has begun in another time zone.
MOST_MONTHS = 122
# Of a 64-bit number.
MAX_DIGITS = 19
BASE, UNDATED = b"base", b"undated"


class Month(NamedTuple):
    """A page's views in a month: the count before, by day of the month, and what else was added to
    the counter or taken from it."""

    number: int
    base: int
    days: Mapping[int, int]
    undated: int

    @property
    def end(self) -> int:
        """The count at its end."""
        return self.base + sum(self.days.values()) + self.undated


class PageViews(NamedTuple):
    """All that is known of a page's views, by month and by hour, and its count before and after
    that was read: if they differ, it was viewed meanwhile."""

    before: int
    months: Mapping[int, Month]
    hours: Mapping[int, int]
    after: int

    @property
    def newest(self) -> Month | None:
        return self.months[max(self.months)] if self.months else None


class Views:
    """All methods raise StoreUnavailable, and ErrorReply for a damaged key."""

    def __init__(self, redis: RedisClient, scripts: Scripts, keys: Keys) -> None:
        self._redis = redis
        self._count = scripts["counters/count"]
        self._keep = scripts["views/keep"]
        self._keys = keys

    async def months(self, path: str, months: Sequence[int]) -> dict[int, Month]:
        """Those of these months, such as 202611, in which the page was viewed."""
        found = await self._hashes([self._keys.days(path, month) for month in months])
        return {
            month: _month_of(month, fields)
            for month, fields in zip(months, found, strict=True)
            if fields
        }

    async def of_pages(self, paths: Sequence[str], months: Sequence[int]) -> list[PageViews]:
        """What is known of each page, of these months."""
        commands: list[Sequence[object]] = []
        for path in paths:
            name = f"time {path}"
            count = ("HGET", self._keys.counts(name), name)
            keys = [self._keys.days(path, month) for month in months]
            hashes = (
                ("HSCAN", key, 0, "COUNT", MOST_FIELDS) for key in [*keys, self._keys.hours(path)]
            )
            commands += [count, *hashes, count]
        replies = await self._redis.ask_masters(*commands)
        width = len(months) + 3
        rows = (replies[at : at + width] for at in range(0, len(replies), width))
        return [_page_of(months, row) for row in rows]

    async def known_months(self) -> list[int]:
        """The months of which anything is kept, such as 202611."""
        every = last_months(MOST_MONTHS)
        sizes = await self._redis.ask_masters(
            *(("HLEN", self._keys.site_hours(month)) for month in every)
        )
        parts = {hour // MONTH for hour in await self.hours_of_site()}
        kept = {month for month, size in zip(every, sizes, strict=True) if size}
        return sorted(kept | parts)

    async def correct(self, name: str, delta: int, moment: Moment) -> int:
        """Change a counter by what nobody has viewed; the new count, 0 at least."""
        path = name.partition(" ")[2]
        counts = self._keys.counts(name)
        keys = (counts, self._keys.numbers_beside(counts), self._keys.hours(path))
        (count,) = await self._count(
            site=self._keys.hours_beside(counts.encode()).decode(),
            counts=[*keys, self._keys.days(path, moment.month)],
            day="undated",
            hour=0,
            oldest=0,
            hours_ms=0,
            days_ms=moment.days_ms,
            changes=[name, delta],
        )
        if isinstance(count, Exception):
            raise failure(count)
        return int(count)

    async def undate(self, path: str, month: int, views: int) -> None:
        """Note that so many views of a page have no day."""
        await self._redis.change(("HINCRBY", self._keys.days(path, month), UNDATED, views))

    async def forget(self, names: Sequence[str]) -> None:
        """Remove what is kept of the pages with these counters of views that are no more."""
        names = [name for name in names if name.startswith("time ")]
        counts = await self._redis.ask_masters(*(("HGET", self._keys.counts(n), n) for n in names))
        paths = [name[5:] for name, count in zip(names, counts, strict=True) if count is None]
        if paths:
            await self._redis.change(*(("DEL", *self._every_key(path)) for path in paths))

    def _every_key(self, path: str) -> list[str]:
        """All that a page may have, in one slot."""
        months = last_months(MOST_MONTHS)
        return [self._keys.hours(path), *(self._keys.days(path, month) for month in months)]

    async def hours(self, path: str) -> dict[int, int]:
        """Views by hour, such as 2026112316, of the last three days."""
        (fields,) = await self._hashes([self._keys.hours(path)])
        return _numbers(fields)

    async def hours_of_site(self) -> Counter[int]:
        """The same of all pages together."""
        total = Counter[int]()
        for fields in await self._hashes([*map(self._keys.hours_in, range(GROUPS))]):
            total.update(_numbers(fields))
        return total

    async def kept_hours(self, months: Sequence[int]) -> dict[int, int]:
        """Views of the site by hour, of these months, as far as `keep` has come."""
        found = await self._hashes([self._keys.site_hours(month) for month in months])
        return {hour: views for fields in found for hour, views in _numbers(fields).items()}

    async def keep(self, hours: Mapping[int, int], kept_ms: int) -> None:
        """Keep the site's views of hours that are over. It may be done often, and by several."""
        for month in {hour // MONTH for hour in hours}:
            counted = [word for each in hours.items() if each[0] // MONTH == month for word in each]
            await self._keep(hours=self._keys.site_hours(month), kept_ms=kept_ms, counted=counted)

    async def drop(self, hours: Sequence[int]) -> None:
        """Remove the parts of hours whose sums are kept."""
        if hours:
            parts = map(self._keys.hours_in, range(GROUPS))
            await self._redis.change(*(("HDEL", part, *hours) for part in parts))

    async def _hashes(self, keys: Sequence[str]) -> list[dict[bytes, bytes]]:
        """Each of these hashes, whole."""
        found: list[dict[bytes, bytes]] = [{} for _ in keys]
        cursors = dict.fromkeys(range(len(keys)), b"0")
        while cursors:
            steps = (("HSCAN", keys[at], cursors[at], "COUNT", MOST_FIELDS) for at in cursors)
            replies = zip(list(cursors), await self._redis.ask(*steps), strict=True)
            cursors = {}
            for at, (cursor, words) in replies:
                found[at] |= _fields(words)
                if cursor != b"0":
                    cursors[at] = cursor
        return found


def _page_of(months: Sequence[int], row: Sequence[Any]) -> PageViews:
    before, *hashes, hours, after = row
    found = {month: _fields(words) for month, (_, words) in zip(months, hashes, strict=True)}
    return PageViews(
        _number(before),
        {month: _month_of(month, fields) for month, fields in found.items() if fields},
        _numbers(_fields(hours[1])),
        _number(after),
    )


def _fields(words: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(words[::2], words[1::2], strict=True))


def _month_of(month: int, fields: Mapping[bytes, bytes]) -> Month:
    days = _numbers(fields)
    return Month(month, _number(fields.get(BASE)), days, _number(fields.get(UNDATED)))


def _numbers(fields: Mapping[bytes, bytes]) -> dict[int, int]:
    """What is counted by a number. Damaged fields are left out, and `footfall check` names them."""
    return {int(at): int(n) for at, n in fields.items() if _is_number(at) and _is_number(n)}


def _is_number(word: bytes) -> bool:
    # int() refuses thousands of digits, and is slow for fewer.
    return word.isdigit() and len(word) <= MAX_DIGITS


def _number(word: bytes | None) -> int:
    try:
        return int(word or 0)
    except ValueError:
        return 0


def last_months(number: int) -> list[int]:
    """The next month and those before it, such as 202612."""
    now = datetime.now(UTC)
    first = 12 * now.year + now.month
    return [100 * (each // 12) + each % 12 + 1 for each in range(first, first - number, -1)]

"""When and by whom pages were viewed: by day, with visitors and bots, and by hour for three days.

The script that counts a view notes it in the same step (lua/counters/count.lua), so that the days
of a page add up to its counter. The whole site's numbers are in site_store.py.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from ..counting.names import is_view_counter, view_counter, viewed_page
from ..driver.client import RedisClient
from ..driver.keys import Keys
from ..driver.replies import failure
from ..driver.scripts import Scripts
from .moment import Moment
from .numbered import STEP_FIELDS, by_name, by_number, fields_of, hashes, is_number, number_or_0

# As many as may be stored, the current one, and one that has started in another time zone.
MOST_MONTHS = 122
# Days for which a group keeps its most viewed pages, and for which the site does, in any time zone.
DAYS_OF_GROUPS, DAYS_OF_SITE = 5, 34
BASE, UNDATED = b"base", b"undated"


class Month(NamedTuple):
    """A page's views in a month: the count before, by day of the month, and what else was added to
    the counter or taken from it; visitors, and views by class of bots, by day."""

    number: int
    base: int
    days: Mapping[int, int]
    undated: int
    visitors: Mapping[int, int]
    bots: Mapping[int, Counter[str]]

    @property
    def growth(self) -> int:
        """Additions to the count in it."""
        return sum(self.days.values()) + self.undated

    @property
    def end(self) -> int:
        """The count at its end."""
        return self.base + self.growth


class PageViews(NamedTuple):
    """All stored views of a page, by month and by hour, and its count before and after reading
    them: if they differ, it was viewed meanwhile."""

    before: int
    months: Mapping[int, Month]
    hours: Mapping[str, int]
    after: int
    # A key of its has something else, and counts as empty.
    is_damaged: bool

    @property
    def newest(self) -> Month | None:
        return self.months[max(self.months)] if self.months else None

    @property
    def unexplained(self) -> int:
        """How many views its newest month lacks up to its count; less than 0 if it has too many.

        The same together with the month before, if that explains more of them.
        """
        *earlier, newest = (self.months[month] for month in sorted(self.months))
        alone = self.after - newest.end
        if not earlier:
            return alone
        return min(alone, self.after - earlier[-1].end - newest.growth, key=abs)


class Viewed(NamedTuple):
    """How often a page was viewed on a day, how often not by bots, and by how many people."""

    views: int
    people: int
    visitors: int


class Views:
    """All methods raise StoreUnavailable, and ErrorReply for a damaged key; among many pages, a
    damaged one has no views."""

    def __init__(
        self, redis: RedisClient, scripts: Scripts, keys: Keys, forget: Callable[[], None]
    ) -> None:
        """`forget` is called after visitors were removed."""
        self._redis = redis
        self._count = scripts["counters/count"]
        self._keys = keys
        self._forget = forget

    async def months(self, path: str, months: Sequence[int]) -> dict[int, Month]:
        """Those of these months, such as 202611, in which the page was viewed."""
        keys = [key for month in months for key in self._month_keys(path, month)]
        read = await hashes(self._redis, keys)
        pairs = zip(months, read[::2], read[1::2], strict=True)
        return {month: month_of(month, fields, bots) for month, fields, bots in pairs if fields}

    def _month_keys(self, path: str, month: int) -> tuple[str, str]:
        return self._keys.days(path, month), self._keys.bots(path, month)

    async def of_pages(self, paths: Sequence[str], months: Sequence[int]) -> list[PageViews]:
        """The stored numbers of each page, of these months."""
        commands: list[Sequence[object]] = []
        for path in paths:
            name = view_counter(path)
            count = ("HGET", self._keys.counts(name), name)
            keys = [key for month in months for key in self._month_keys(path, month)]
            keys.append(self._keys.hours(path))
            commands += [count, *(("HSCAN", key, 0, "COUNT", STEP_FIELDS) for key in keys), count]
        replies = await self._redis.ask_each(*commands, of_masters=True)
        width = 2 * len(months) + 3
        rows = (replies[at : at + width] for at in range(0, len(replies), width))
        return [_page_of(months, row) for row in rows]

    async def on_days(
        self, paths: Sequence[str], days: Sequence[int], as_people: frozenset[str] = frozenset()
    ) -> list[list[Viewed]]:
        """Of each page, the numbers of each of these days, such as 20261123; these classes of bots
        count as people."""
        months = list(dict.fromkeys(day // 100 for day in days))
        keys = [key for path in paths for month in months for key in self._month_keys(path, month)]
        fields = await hashes(self._redis, keys, spares=True)
        width = 2 * len(months)
        rows = (fields[at : at + width] for at in range(0, len(fields), width))
        return [
            _on_days(
                {m: month_of(m, *row[2 * i : 2 * i + 2]) for i, m in enumerate(months)},
                days,
                as_people,
            )
            for row in rows
        ]

    async def in_hours(
        self, paths: Sequence[str], hours: Sequence[int], as_people: frozenset[str]
    ) -> list[list[tuple[int, int]]]:
        """Of each page, its views in each of these hours, such as 2026112316, and those by
        people."""
        read = await hashes(self._redis, [*map(self._keys.hours, paths)], spares=True)
        return [_in_hours(fields, hours, as_people) for fields in read]

    async def counts(self, paths: Sequence[str]) -> list[int]:
        """How often each page was viewed ever."""
        names = [view_counter(path) for path in paths]
        commands = (("HGET", self._keys.counts(name), name) for name in names)
        return list(map(number_or_0, await self._redis.ask_each(*commands)))

    async def correct(self, name: str, delta: int, moment: Moment) -> int:
        """Change a counter by a number that is not views; the new count, 0 at least."""
        path, keys = name.partition(" ")[2], self._keys
        counts = keys.counts(name)
        site, sources = keys.shares_beside(counts.encode(), moment.day)
        (count,) = await self._count(
            site=site,
            sources=sources,
            counts=[
                counts,
                keys.numbers_beside(counts),
                keys.hours(path),
                keys.days(path, moment.month),
                keys.bots(path, moment.month),
                keys.visitors(path, moment.day),
                keys.read_beside(path, moment.day),
            ],
            day="undated",
            date=0,
            hour=0,
            oldest=0,
            hours_ms=0,
            days_ms=moment.days_ms,
            day_ms=0,
            changes=[name, delta, "", 0, 0],
        )
        if isinstance(count, Exception):
            raise failure(count)
        return int(count)

    async def undate(self, path: str, month: int, views: int) -> None:
        """Note that this many views of a page have no day."""
        await self._redis.change(("HINCRBY", self._keys.days(path, month), UNDATED, views))

    async def relist(self, source: str, target: str) -> None:
        """Replace a page by another one in the lists of most viewed pages, with the other one's
        current views."""
        groups, site = days_of_groups(), last_days(DAYS_OF_SITE)
        (ever,) = await self.counts([target])
        on_days = await self.on_days([target], site)
        views = {0: ever} | {day: seen.views for day, seen in zip(site, on_days[0], strict=True)}
        keys = self._keys
        lists = [
            (keys.read_beside(source, day), keys.read_beside(target, day), day) for day in groups
        ]
        lists += [(keys.most_read(day), keys.most_read(day), day) for day in views]
        scores = await self._redis.ask_each(*(("ZSCORE", had, source) for had, _, _ in lists))
        commands: list[Sequence[object]] = []
        for (had, gets, day), score in zip(lists, scores, strict=True):
            if score is not None:
                commands.append(("ZREM", had, source))
                # A list that has expired meanwhile would stay for ever.
                commands.append(("ZADD", gets, views[day], target))
        if commands:
            await self._redis.change(*commands)

    async def forget(self, names: Sequence[str]) -> None:
        """Remove the statistics of pages whose view counters are gone."""
        names = [name for name in names if is_view_counter(name)]
        counts = await self._redis.ask_masters(*(("HGET", self._keys.counts(n), n) for n in names))
        await self.erase(
            [viewed_page(name) for name, n in zip(names, counts, strict=True) if n is None]
        )

    async def erase(self, paths: Sequence[str]) -> bool:
        """Remove all statistics of these pages; were there any? Their counters stay, and their next
        views start again; the site's numbers keep theirs."""
        commands: list[Sequence[object]] = []
        for path in paths:
            commands.append(("DEL", *self._every_key(path)))
            commands += (("ZREM", key, path) for key in self._every_list(path))
        if not commands:
            return False
        removed = await self._redis.change(*commands)
        self._forget()
        return any(removed)

    def _every_key(self, path: str) -> Iterator[str]:
        """All that a page may have, in one slot."""
        yield self._keys.hours(path)
        for month in every_month():
            yield from self._month_keys(path, month)
        for day in days_of_groups():
            yield self._keys.visitors(path, day)

    def _every_list(self, path: str) -> Iterator[str]:
        """The lists of pages that may have it."""
        for day in days_of_groups():
            yield self._keys.read_beside(path, day)
        for day in (0, *last_days(DAYS_OF_SITE)):
            yield self._keys.most_read(day)

    async def hours(self, path: str) -> dict[int, int]:
        """Views by hour, such as 2026112316, of the last three days."""
        (fields,) = await hashes(self._redis, [self._keys.hours(path)])
        return by_number(fields)


def _page_of(months: Sequence[int], row: Sequence[Any]) -> PageViews:
    before, *scanned, after = row
    read = [fields_of(reply[1]) if reply else {} for reply in scanned]
    pairs = zip(months, read[:-1:2], read[1::2], strict=True)
    return PageViews(
        number_or_0(before),
        {month: month_of(month, fields, bots) for month, fields, bots in pairs if fields},
        by_name(read[-1]),
        number_or_0(after),
        None in scanned,
    )


def month_of(month: int, fields: Mapping[bytes, bytes], bots: Mapping[bytes, bytes]) -> Month:
    base, undated = number_or_0(fields.get(BASE)), number_or_0(fields.get(UNDATED))
    return Month(
        month, base, by_number(fields), undated, by_number(fields, b"v"), by_class(bots.items())
    )


def people_of(views: int, bots: Mapping[str, int], as_people: frozenset[str]) -> int:
    """The views that are by people."""
    return views - sum(number for name, number in bots.items() if name not in as_people)


def _on_days(
    months: Mapping[int, Month], days: Sequence[int], as_people: frozenset[str]
) -> list[Viewed]:
    viewed = list[Viewed]()
    for day in days:
        month, at = months[day // 100], day % 100
        views = month.days.get(at, 0)
        people = people_of(views, month.bots.get(at, {}), as_people)
        viewed.append(Viewed(views, people, month.visitors.get(at, 0)))
    return viewed


def _in_hours(
    fields: Mapping[bytes, bytes], hours: Sequence[int], as_people: frozenset[str]
) -> list[tuple[int, int]]:
    views, bots = by_number(fields), by_class(fields.items())
    return [
        (views.get(hour, 0), people_of(views.get(hour, 0), bots.get(hour, {}), as_people))
        for hour in hours
    ]


def by_class(fields: Iterable[tuple[bytes, bytes]]) -> dict[int, Counter[str]]:
    """Views by class of bots, by day, of fields such as "23 ai-crawler"."""
    classes = defaultdict[int, Counter[str]](Counter)
    for field, views in fields:
        day, _, name = field.partition(b" ")
        if name and is_number(day) and is_number(views):
            classes[int(day)][name.decode(errors="replace")] += int(views)
    return classes


def every_month() -> list[int]:
    """The next month and those before it that may be stored, such as 202612."""
    now = datetime.now(UTC)
    first = 12 * now.year + now.month
    return [100 * (month // 12) + month % 12 + 1 for month in range(first, first - MOST_MONTHS, -1)]


def days_of_groups() -> list[int]:
    """Tomorrow and the days before it for which a group keeps its most viewed pages."""
    return last_days(DAYS_OF_GROUPS)


def last_days(number: int) -> list[int]:
    """Tomorrow and the days before it, such as 20261124."""
    first = datetime.now(UTC) + timedelta(1)
    days = (first - timedelta(ago) for ago in range(number))
    return [10_000 * day.year + 100 * day.month + day.day for day in days]

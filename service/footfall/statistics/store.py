"""When and by whom pages were viewed: by day, with visitors and bots, and by hour for three days.

The script that counts a view notes it in the same step (lua/counters/count.lua), so that the days
of a page add up to its counter. The whole site's numbers are in site_store.py.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from ..counters import is_view_counter, view_counter, viewed_page
from ..driver.client import RedisClient
from ..driver.keys import Keys
from ..driver.replies import failure
from ..driver.scripts import Scripts
from ..driver.walks import walked
from .calendar import HOURS_MS, months_between
from .moment import Moment
from .numbered import by_name, by_number, number_or_0
from .open_hour import BASE, OPEN, UNDATED
from .page_views import (
    Month,
    PageViews,
    Read,
    Viewed,
    between,
    in_hours,
    months_of,
    on_days,
    read_of,
)
from .referrals import ReferralNames

# As many as may be stored, the current one, and one that has started in another time zone.
MOST_MONTHS = 122
# Days for which a group keeps its most viewed pages, and for which the site does, in any time zone.
DAYS_OF_GROUPS, DAYS_OF_SITE = 5, 34
# A month that has started in another time zone, and the one in which the oldest one started.
SPARE_MONTHS = 2
# Pages whose hours are closed together.
PAGES_A_STEP = 50
# The script's arguments where no hour is open.
NO_HOUR = dict.fromkeys(("day", "hour", "latest", "oldest", "day_ms"), 0) | {"hours_ms": HOURS_MS}
# Months that may have an hour of the last three days, in any time zone.
MONTHS_OF_HOURS = 3


class Views:
    """All methods raise StoreUnavailable, and ErrorReply for a damaged key; among many pages, a
    damaged one has no views."""

    def __init__(
        self,
        redis: RedisClient,
        scripts: Scripts,
        keys: Keys,
        forget: Callable[[], None],
        moment: Callable[[], Moment] | None = None,
    ) -> None:
        """`forget` is called after visitors were removed; views are dated by `moment`, if given."""
        self._redis = redis
        self._moment = moment
        self._count = scripts["counters/count"]
        self._read_page = scripts["views/read"]
        self._keys = keys
        self._forget = forget
        self._referrals = ReferralNames(redis, scripts, keys)

    async def months(self, path: str, months: Sequence[int]) -> dict[int, Month]:
        """The months, of these such as 202611, in which the page was viewed."""
        (page,) = await self._read([path], months)
        if page.errors:
            raise failure(page.errors[0])
        return months_of(page, months)

    async def of_pages(self, paths: Sequence[str], months: Sequence[int]) -> list[PageViews]:
        """The stored numbers of each page, of these months, as they were at one moment."""
        return [
            PageViews(page.total, months_of(page, months), by_name(page.hours), bool(page.errors))
            for page in await self._read(paths, months, of_masters=True)
        ]

    async def on_days(
        self, paths: Sequence[str], days: Sequence[int], as_people: frozenset[str] = frozenset()
    ) -> list[list[Viewed]]:
        """Each page's numbers of each of these days, such as 20261123; these classes of bots
        count as people."""
        months = list(dict.fromkeys(day // 100 for day in days))
        read = await self._read(paths, months)
        return [on_days(months_of(page, months), days, as_people) for page in read]

    async def between(
        self, paths: Sequence[str], periods: Sequence[tuple[int, int]], as_people: frozenset[str]
    ) -> list[list[Viewed]]:
        """Each page's numbers of each period, such as (20261101, 20261130), its days together."""
        months = sorted({month for period in periods for month in months_between(*period)})
        return [
            [between(months_of(page, months), *period, as_people) for period in periods]
            for page in await self._read(paths, months)
        ]

    async def in_hours(
        self, paths: Sequence[str], hours: Sequence[int], as_people: frozenset[str]
    ) -> list[list[tuple[int, int]]]:
        """Each page's views in each of these hours, such as 2026112316, and those by
        people."""
        read = await self._read(paths, [hour // 10_000 for hour in hours])
        return [in_hours(page.hours, hours, as_people) for page in read]

    async def hours(self, path: str) -> dict[int, int]:
        """Views by hour, such as 2026112316, of the last three days."""
        (page,) = await self._read([path], every_month()[:MONTHS_OF_HOURS])
        if page.errors:
            raise failure(page.errors[0])
        return by_number(page.hours)

    async def _read(
        self, paths: Sequence[str], months: Iterable[int], *, of_masters: bool = False
    ) -> list[Read]:
        """These months and those after them, in which an hour of theirs may have ended."""
        asked = {*months}
        later = (each for each in every_month() if any(each > month for month in asked))
        every = sorted(asked.union(later))
        sender = self._redis.prompt if of_masters else self._redis.sender
        send = partial(self._redis.send, sender=sender)
        calls = (
            self._read_page.through(
                send,
                counter=self._keys.counts(view_counter(path)),
                views=[*keys.of_months(every), keys.hours],
                name=view_counter(path),
            )
            for path, keys in zip(paths, map(self._keys.views, paths), strict=True)
        )
        return [read_of(every, replies) for replies in await asyncio.gather(*calls)]

    async def counts(self, paths: Sequence[str]) -> list[int]:
        """How often each page was viewed ever."""
        names = [view_counter(path) for path in paths]
        commands = (("HGET", self._keys.counts(name), name) for name in names)
        return list(map(number_or_0, await self._redis.ask_each(*commands)))

    async def correct(self, name: str, delta: int) -> int:
        """Change a counter by a number that is not views; the new count, 0 at least."""
        moment = self._dated()
        if not is_view_counter(name):
            return await self._change(name, delta, "other", [], moment.arguments)
        days = self._keys.views(viewed_page(name)).days(moment.month)
        return await self._change(name, delta, "undated", [days], moment.arguments)

    async def close_hours(self, months: int) -> AsyncIterator[None]:
        """Add the open hours of all pages to their days, some pages a step, since views without
        statistics follow. Days are kept for this many months in addition to their own."""
        every, paths = every_month()[: months + SPARE_MONTHS], list[str]()
        async for _, counts in walked(self._redis, self._keys.every_counts()):
            names = (name.decode(errors="replace") for name in counts)
            paths += map(viewed_page, filter(is_view_counter, names))
            if len(paths) >= PAGES_A_STEP:
                await self._close(paths, every)
                paths = []
            yield
        await self._close(paths, every)

    async def _close(self, paths: Sequence[str], months: Sequence[int]) -> None:
        keys = [keys.days(month) for keys in map(self._keys.views, paths) for month in months]
        reads = (("HMGET", key, BASE, OPEN) for key in keys)
        found = await self._redis.ask_each(*reads, of_masters=True)
        closing = list[tuple[str, int, str]]()
        for path, first in zip(paths, range(0, len(keys), len(months)), strict=True):
            # An hour of an earlier month has ended when the newest one started.
            of_page = enumerate(found[first : first + len(months)], first)
            newest = next((at for at, words in of_page if words and words[0]), None)
            if newest is not None and found[newest][1]:
                closing.append((path, months[newest - first], keys[newest]))
        left = await self._redis.ask_masters(*(("PTTL", key) for _, _, key in closing))
        await asyncio.gather(
            *(
                self._open(path, month, NO_HOUR | {"days_ms": max(left_ms, 1)})
                for (path, month, _), left_ms in zip(closing, left, strict=True)
            )
        )

    async def _open(self, path: str, month: int, arguments: Mapping[str, int]) -> None:
        """Open an hour, or none."""
        keys = self._keys.views(path)
        needed = [keys.days(month), keys.hours, keys.bots(month), keys.read(0)]
        await self._change(view_counter(path), 0, "first", needed, arguments)

    def _dated(self) -> Moment:
        assert self._moment is not None
        return self._moment()

    async def _change(
        self, name: str, delta: int, what: str, needed: Sequence[str], arguments: Mapping[str, int]
    ) -> int:
        counts = self._keys.counts(name)
        site, sources, referrals, numbers = self._keys.shares_beside(counts.encode(), 0)
        (count,) = await self._count(
            site=site,
            sources=sources,
            referrals=referrals,
            numbers=numbers,
            counts=[counts, numbers, *needed],
            plain=0,
            changes=[name, delta, what, "", 0, 0],
            **arguments,
        )
        if isinstance(count, Exception):
            raise failure(count)
        return int(count)

    async def undate(self, path: str, month: int, views: int) -> None:
        """Note that this many views of a page have no day."""
        await self._redis.change(("HINCRBY", self._keys.views(path).days(month), UNDATED, views))

    async def relist(self, source: str, target: str) -> None:
        """Replace a page by another one in the lists of most viewed pages, with the other one's
        current views; and in referrals."""
        await self._rename({source: target})
        groups, site = days_of_groups(), last_days(DAYS_OF_SITE)
        (ever,) = await self.counts([target])
        on_days = await self.on_days([target], site)
        views = {0: ever} | {day: seen.views for day, seen in zip(site, on_days[0], strict=True)}
        keys = self._keys
        lists = [
            (keys.views(source).read(day), keys.views(target).read(day), day) for day in groups
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
        await self._erase(
            [viewed_page(name) for name, n in zip(names, counts, strict=True) if n is None]
        )

    async def erase(self, path: str) -> bool:
        """Remove all statistics of a page; were there any? Its counter stays, and its next views
        start again; the site's numbers keep theirs."""
        (page,) = await self.of_pages([path], every_month())
        await self._erase([path])
        if self._moment:
            # Other processes know that it is open.
            moment = self._moment()
            await self._open(path, moment.month, moment.arguments)
        return page.is_damaged or any(month.days for month in page.months.values())

    async def _erase(self, paths: Sequence[str]) -> None:
        commands: list[Sequence[object]] = []
        for path in paths:
            commands.append(("DEL", *self._every_key(path)))
            commands += (("ZREM", key, path) for key in self._every_list(path))
        if commands:
            commands.append(("HDEL", self._keys.titles, *paths))
            await self._redis.change(*commands)
            await self._rename(dict.fromkeys(paths, ""))
            self._forget()

    async def _rename(self, new: Mapping[str, str]) -> None:
        days = [100 * month + day for month in every_month() for day in range(1, 32)]
        await self._referrals.rename(new, days, days_of_groups())

    def _every_key(self, path: str) -> Iterator[str]:
        """All that a page may have, in one slot."""
        keys = self._keys.views(path)
        yield from (keys.hours, *keys.of_months(every_month()))
        yield from map(keys.visitors, days_of_groups())

    def _every_list(self, path: str) -> Iterator[str]:
        """The lists of pages that may have it."""
        yield from map(self._keys.views(path).read, days_of_groups())
        for day in (0, *last_days(DAYS_OF_SITE)):
            yield self._keys.most_read(day)


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

"""Views and visitors of pages and of the whole site, by day and by hour of the site's time zone;
most read and rising pages.

Derived numbers are as exact as the counters. Only the number of visitors beyond MOST_EXACT is an
estimate, and is marked; and lists know a page only if it was among the most viewed of some day.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import NamedTuple

from .audience import by_kind
from .calendar import (
    MINUTE_MS,
    Calendar,
    LocalHour,
    date_of,
    day_number,
    days_between,
    months_between,
)
from .day_lists import DayLists
from .minute_cache import MinuteCache
from .most_read import MAX_PAGES, MostRead, TopPage
from .page_list import PageList, PageLists
from .page_views import people_of
from .referrals import Referrals, referrals_in
from .site_store import SiteNumbers, SiteViews
from .source_views import Source, Sources, views_by_host
from .store import Views

# The longest month.
DAYS_OF_MONTH = 31
# An hour such as 2026112316 divided by this is its day.
DAY = 100
# The numbers of visitors of a day that are counted exactly: of a page, and of the site, whose
# shares have nearly the same number each (lua/counters/count.lua, lua/views/visit.lua).
MOST_EXACT, MOST_EXACT_OF_SITE = 512, 120_000
# A day has a key of its own for them.
MAX_SOURCE_DAYS = 366
# Strangers choose hosts, and to read those of a month may take 30 ms.
SOURCE_DAYS_A_TRIP = 31
# Lists of pages of several periods, some hundred kilobytes each.
MAX_LISTS = 16


class Day(NamedTuple):
    """A day's views, how many people they were by, and how many were by bots of each class."""

    views: int
    visitors: int
    bots: Mapping[str, int]


class Report(NamedTuple):
    """Each day of a period, such as 20261123; and the classes of bots that count as people.

    `most_exact` is the number of visitors of a day beyond which it is an estimate.
    """

    days: Mapping[int, Day]
    as_people: frozenset[str]
    most_exact: int

    @property
    def views(self) -> int:
        return sum(day.views for day in self.days.values())

    @property
    def people(self) -> int:
        return sum(map(self.people_of, self.days.values()))

    @property
    def visitors(self) -> int:
        """The sum of the days: a visitor of two days is not recognised as one."""
        return sum(day.visitors for day in self.days.values())

    @property
    def is_exact(self) -> bool:
        return all(day.visitors <= self.most_exact for day in self.days.values())

    @property
    def bots(self) -> Counter[str]:
        """Views by each class, also of those that count as people."""
        total = Counter[str]()
        for day in self.days.values():
            total.update(day.bots)
        return total

    def people_of(self, day: Day) -> int:
        """The views of a day that are by people."""
        return people_of(day.views, day.bots, self.as_people)


class Reports:
    """`clock` returns Unix time in ms; days are kept for this many months in addition to their own;
    `own` are the site's hosts, which are not sources.

    All coroutines raise StoreUnavailable, and ErrorReply for a damaged key.
    """

    def __init__(
        self,
        views: Views,
        site_views: SiteViews,
        calendar: Calendar,
        clock: Callable[[], int],
        months: int,
        *,
        kept: str = "off",
    ) -> None:
        """`kept` is `off`, `views`, or `visitors` if these are stored as well."""
        self.is_on = kept != "off"
        self.keeps_visitors = kept == "visitors"
        self._views = views
        self._site = site_views
        self.calendar = calendar
        self._clock = clock
        self._months = months
        self._minute = MinuteCache(clock)
        self.most_read = MostRead(
            views, site_views, calendar, clock, tells_people=self.keeps_visitors
        )
        self._lists = PageLists(views, site_views, calendar, self.most_read)
        self._listed = MinuteCache(clock, MAX_LISTS)

    def hour(self) -> LocalHour:
        """This one."""
        return self.calendar.hour_of(self._clock())

    def minute(self) -> int:
        """This one, by its number since 1970."""
        return self._clock() // MINUTE_MS

    def today(self) -> int:
        """A day such as 20261123."""
        return self.hour().day

    @staticmethod
    def days_before(day: int, days: int) -> int:
        """The day this many days before this one."""
        return day_number(date_of(day) - timedelta(days))

    async def report(self, path: str | None, first: int, last: int) -> Report:
        """The days from the first to the last, of a page, or with None of the site.

        Raises ValueError for such as are not days, or too many.
        """
        numbers, as_people = await asyncio.gather(
            self._days(path, first, last), self._site.people()
        )
        days = {day: numbers.get(day, Day(0, 0, {})) for day in days_between(first, last)}
        most_exact = MOST_EXACT_OF_SITE if path is None else MOST_EXACT
        return Report(days, as_people, most_exact)

    async def _days(self, path: str | None, first: int, last: int) -> Mapping[int, Day]:
        months = months_between(first, last)
        if path is None:
            return _days_of_site(await self._numbers(months))
        kept = await self._views.months(path, months)
        return {
            DAY * month + day: Day(views, numbers.visitors.get(day, 0), numbers.bots.get(day, {}))
            for month, numbers in kept.items()
            for day, views in numbers.days.items()
        }

    async def visitors(self, path: str | None) -> int:
        """The sum of all stored days, of a page, or with None of the site; 0 if visitors are not
        distinguished."""
        if not self.keeps_visitors:
            return 0
        today = self.today()
        first = date_of(today).replace(day=1) - timedelta(days=self._months * DAYS_OF_MONTH)
        days = await self._days(path, day_number(first), today)
        return sum(day.visitors for day in days.values())

    async def hours(self, path: str | None, first: int, last: int) -> dict[int, int]:
        """The views by hour, such as 2026112316, as far as is known: of a page for three days."""
        if path is None:
            views_by_hour = (await self._numbers(months_between(first, last))).hours
        else:
            views_by_hour = await self._views.hours(path)
        days = {*days_between(first, last)}
        return {hour: views for hour, views in views_by_hour.items() if hour // DAY in days}

    async def _numbers(self, months: list[int]) -> SiteNumbers:
        """Stored sums, and the shares of hours and days that still exist."""
        kept, shares = await asyncio.gather(
            self._site.kept(months), self._minute.find_or_make("shares", self._site.shares)
        )
        return _larger(kept, shares)

    async def sources(self, first: int, last: int) -> list[Source]:
        """The hosts from which most visitors came in the last MAX_SOURCE_DAYS of the period."""
        found = Sources()
        async for kept, shares in self._of_days(self._site.sources, first, last):
            found.add(_fuller(kept, shares))
        return found.ranked()

    async def sources_of(self, path: str | None, first: int, last: int) -> list[Source]:
        """From where a page was visited, or with None the site."""
        if path is None:
            return await self.sources(first, last)
        return (await self.referrals(first, last)).sources_of(path)

    async def referrals(self, first: int, last: int) -> Referrals:
        """To which pages visitors came from where in the last MAX_SOURCE_DAYS of the period; it is
        cached for a minute."""

        async def make() -> Referrals:
            found = Sources(most=None)
            async for kept, shares in self._of_days(self._site.referrals, first, last):
                found.add(_fuller(kept, shares))
            return referrals_in(found)

        found: Referrals = await self._listed.find_or_make(("referrals", first, last), make)
        return found

    async def audience(self, path: str | None, first: int, last: int) -> dict[str, Counter[str]]:
        """Visitors of the last MAX_SOURCE_DAYS of the period by kind and name, of the site; of a
        page nobody is classed."""
        if path is not None:
            return {}
        total = Counter[str]()
        async for kept, shares in self._of_days(self._site.audience, first, last):
            total.update(kept | shares)
        return by_kind(total.items())

    async def _of_days(
        self, lists: DayLists, first: int, last: int
    ) -> AsyncIterator[tuple[Counter[str], Counter[str]]]:
        """The stored sum of each day, and what its shares have together if it is a recent one."""
        days, recent = days_between(first, last)[-MAX_SOURCE_DAYS:], self._recent_days()
        for at in range(0, len(days), SOURCE_DAYS_A_TRIP):
            some = days[at : at + SOURCE_DAYS_A_TRIP]
            for day, kept in zip(some, await lists.kept(some), strict=True):
                shares = Counter[str]()
                if day in recent:
                    # Hundreds of keys: once a minute, for all periods together.
                    make = partial(lists.shares, day)
                    shares = await self._minute.find_or_make((lists, day), make)
                yield kept, shares

    async def top(self, by: str, days: int, count: int) -> list[TopPage]:
        """The first `count` pages, of MAX_PAGES at most; see MostRead. It is cached for a
        minute."""
        make = partial(self.most_read.top, by, days, MAX_PAGES)
        pages: list[TopPage] = await self._minute.find_or_make((by, days), make)
        return pages[:count]

    async def pages(self, first: int, last: int, before: tuple[int, int] | None) -> PageList:
        """See PageLists; it is cached for a minute."""
        make = partial(self._lists.of, first, last, before)
        pages: PageList = await self._listed.find_or_make((first, last, before), make)
        return pages

    async def today_of_site(self) -> Report:
        today = self.today()
        return await self.report(None, today, today)

    async def notes(self, first: int, last: int) -> dict[int, str]:
        """What an owner has noted on days of this period."""
        notes = await self._site.notes()
        return {day: text for day, text in notes.items() if first <= day <= last}

    async def count_as_people(self, name: str, *, is_people: bool) -> frozenset[str]:
        """Count the views of a class of bots as people's, or not, for stored views as well. Returns
        all classes that count."""
        await self._site.count_as_people(name, is_people=is_people)
        return await self._site.people()

    async def erase(self, path: str) -> bool:
        """Forget when and by whom a page was viewed; was anything stored? The site's numbers keep
        its views."""
        return await self._views.erase(path)

    def _recent_days(self) -> list[int]:
        """The days of which shares may be there still."""
        today = self.today()
        return [today, self.days_before(today, 1)]


def _fuller(kept: Counter[str], shares: Counter[str]) -> Counter[str]:
    """Shares grow until they are summed and removed."""
    return max(shares, kept, key=lambda part: views_by_host(part).total())


def _days_of_site(numbers: SiteNumbers) -> dict[int, Day]:
    views = Counter[int]()
    for hour, number in numbers.hours.items():
        views[hour // DAY] += number
    days = {*views, *numbers.visitors, *numbers.bots}
    return {
        day: Day(views[day], numbers.visitors.get(day, 0), numbers.bots.get(day, {}))
        for day in days
    }


def _larger(one: SiteNumbers, other: SiteNumbers) -> SiteNumbers:
    """The larger of each number: the shares grow until they are summed and removed."""
    bots = {
        day: one.bots.get(day, Counter()) | other.bots.get(day, Counter())
        for day in {*one.bots, *other.bots}
    }
    return SiteNumbers(
        Counter(one.hours) | Counter(other.hours),
        Counter(one.visitors) | Counter(other.visitors),
        bots,
    )

"""The most read pages, and the rising ones.

Candidates are the pages that people viewed most on one of the days in question. Their order is by
exact numbers, of as many of them as can have more than those that are listed, up to MAX_CANDIDATES.
So the cost is bounded however many pages a site has. Where a page that was not compared may have
more, the one that is listed is marked.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from math import inf, log
from typing import NamedTuple

from .calendar import DAY_MS, HOUR_MS, KEPT_HOURS, Calendar, date_of, day_number
from .moments import hour_number
from .site_store import MAX_LISTED, UNLISTED, SiteViews, larger
from .store import Views

# Candidates whose numbers are read at once, and at most.
CANDIDATES_A_TRIP, MAX_CANDIDATES = 200, 1_000
# In a list of today a page has half of its views at least, but for the last few of each worker.
STALE, SPARE_VIEWS = 2, 20
MAX_PAGES = 100
# Periods in days; 1 is the last 24 hours, 0 is ever.
PERIODS = (0, 1, 7, 30)
ORDERS = ("views", "visitors", "rising", "comments")
# How long the list of a day is kept: queries go back thirty days, in any time zone.
KEPT_DAYS = 33
# The half-life of views, in hours: for a page's current views, and for its usual ones.
NOW_HOURS, USUAL_HOURS = 6, 48


class TopPage(NamedTuple):
    """A page in a list: its views in the period, and those by people, None if not given; its
    visitors if the period has whole days, and the comments written in it if pages are ranked by
    these. All of these are exact."""

    path: str
    views: int
    people: int | None = None
    visitors: int = 0
    comments: int = 0
    # Can no other page stand in its place?
    is_exact: bool = True

    @property
    def read(self) -> int:
        """By what lists are ordered that are for people, as all but those of ever are."""
        return self.views if self.people is None else self.people


class MostRead:
    """`clock` returns Unix time in ms. All coroutines raise StoreUnavailable, and ErrorReply for
    damage beyond one page or one list."""

    def __init__(
        self,
        views: Views,
        site: SiteViews,
        calendar: Calendar,
        clock: Callable[[], int],
        *,
        tells_people: bool,
    ) -> None:
        """`tells_people` if bots are distinguished."""
        self._tells_people = tells_people
        self._views = views
        self._site = site
        self._calendar = calendar
        self._clock = clock

    async def top(self, by: str, days: int, count: int) -> list[TopPage]:
        """The `count` first pages, in one of ORDERS, of one of PERIODS. What rises is of the last
        three days, and visitors are of thirty at most."""
        if by == "comments":
            return await self._commented(days, count)
        if by == "rising":
            return await self._rising(count)
        if by == "views" and days == 0:
            return await self._ever(count)
        if by == "views" and days == 1:
            return await self._of_last_day(count)
        asked = self.last_days(days or max(PERIODS))
        return await self._best(
            await self.candidates(asked),
            count,
            lambda paths: self._on_days(paths, asked),
            lambda page: page.visitors if by == "visitors" else page.read,
        )

    async def _best(
        self,
        candidates: "Candidates",
        count: int,
        pages_of: Callable[[Sequence[str]], Awaitable[list[TopPage]]],
        score: Callable[[TopPage], float],
        most: Callable[[float], float] = float,
    ) -> list[TopPage]:
        """The `count` first of the candidates by `score`, which with this many views by people is
        `most` at most."""
        ranked = candidates.pages.most_common(MAX_CANDIDATES + 1)
        pages, best, others = list[TopPage](), list[TopPage](), most(candidates.others)
        for at in range(0, min(len(ranked), MAX_CANDIDATES), CANDIDATES_A_TRIP):
            paths = [path for path, _ in ranked[at : at + CANDIDATES_A_TRIP]]
            pages += await pages_of(paths)
            best = _first(pages, [score(page) for page in pages], count)
            following = ranked[at + CANDIDATES_A_TRIP :]
            others = most(candidates.most(following))
            if len(best) == count and others < score(best[-1]):
                break
        return [page._replace(is_exact=score(page) > others) for page in best]

    async def _on_days(self, paths: Sequence[str], days: Sequence[int]) -> list[TopPage]:
        viewed = await self._views.on_days(paths, days, await self._site.people())
        return [
            self._page(path, *map(sum, zip(*each, strict=True)))
            for path, each in zip(paths, viewed, strict=True)
        ]

    def _page(self, path: str, views: int, people: int, visitors: int = 0) -> TopPage:
        return TopPage(path, views, people if self._tells_people else None, visitors)

    async def _ever(self, count: int) -> list[TopPage]:
        paths = (await self.candidates([0, *self.last_days(1)])).paths(MAX_CANDIDATES)
        counts = await self._views.counts(paths)
        # All others together, some of which may have been imported, and never been viewed here.
        others = await self._site.views_ever() - sum(counts)
        pages = _first(list(map(TopPage, paths, counts)), counts, count)
        return [page._replace(is_exact=page.views > others) for page in pages]

    async def _of_last_day(self, count: int) -> list[TopPage]:
        """The most read pages of 24 hours, whatever days they are of."""

        async def pages_of(paths: Sequence[str]) -> list[TopPage]:
            viewed = await self._in_hours(paths, 24)
            today = await self._on_days(paths, self.last_days(1))
            return [
                self._page(page.path, sum(views), sum(people), page.visitors)
                for page, (views, people) in zip(today, viewed, strict=True)
            ]

        candidates = await self.candidates(self.last_days(2))
        return await self._best(candidates, count, pages_of, lambda page: page.read)

    async def _rising(self, count: int) -> list[TopPage]:
        """Pages that are viewed more now than they usually are."""
        rises = dict[str, float]()

        async def pages_of(paths: Sequence[str]) -> list[TopPage]:
            viewed = await self._in_hours(paths, KEPT_HOURS)
            rises.update(
                (path, rise(people)) for path, (_, people) in zip(paths, viewed, strict=True)
            )
            return [
                self._page(path, sum(views[:24]), sum(people[:24]))
                for path, (views, people) in zip(paths, viewed, strict=True)
            ]

        candidates = await self.candidates(self.last_days(KEPT_HOURS // 24 + 1))
        # Nothing rises more than what has all its views in this hour.
        rises_most = rise([1])
        return await self._best(
            candidates,
            count,
            pages_of,
            lambda page: rises[page.path],
            lambda views: views * rises_most,
        )

    async def _in_hours(
        self, paths: Sequence[str], hours: int
    ) -> list[tuple[Sequence[int], Sequence[int]]]:
        """Each page's views in each of the last hours, and those by people."""
        viewed = await self._views.in_hours(paths, self._hours(hours), await self._site.people())
        return [([n for n, _ in each], [n for _, n in each]) for each in viewed]

    async def _commented(self, days: int, count: int) -> list[TopPage]:
        since_ms = self._clock() - days * DAY_MS if days else 0
        counts, known, is_whole = await self._site.commented(since_ms)
        by_path = Counter({path: counts[page] for page, path in known.items()})
        comments = by_path.most_common(count)
        paths = [path for path, _ in comments]
        pages = await self._on_days(paths, self.last_days(days or max(PERIODS)))
        return [
            page._replace(comments=number, is_exact=is_whole)
            for (_, number), page in zip(comments, pages, strict=True)
        ]

    async def series(self, paths: Sequence[str], days: int) -> list[list[int]]:
        """The views of each page by people on each of the last days, the oldest first."""
        viewed = await self._views.on_days(
            paths, self.last_days(days)[::-1], await self._site.people()
        )
        return [[day.people for day in each] for each in viewed]

    async def listed(self) -> list[str]:
        """All that were viewed most ever, or are today."""
        return (await self.candidates([0, *self.last_days(1)])).paths(MAX_LISTED)

    async def candidates(self, days: Sequence[int]) -> "Candidates":
        """Pages with their views by people as lists of these days have them."""
        lists = dict(zip(days, await self._site.read(days), strict=True))
        for day in self.last_days(2):
            if day in lists:
                lists[day] = larger(lists[day], await self._site.shares_of_read(day))
        total, others = Counter[str](), 0.0
        for pages in lists.values():
            # Adding counters would copy them for each day.
            total.update(pages)
            others += STALE * pages[UNLISTED] + SPARE_VIEWS if pages[UNLISTED] else 0
        total.pop(UNLISTED, None)
        if await self._site.people():
            # Lists are by views of people alone, and other pages may have any number of bots'.
            return Candidates(total, inf if others else 0, inf)
        return Candidates(total, others, SPARE_VIEWS * len(days))

    def last_days(self, number: int) -> list[int]:
        """The last days, today first."""
        today = date_of(self._calendar.hour_of(self._clock()).day)
        return [day_number(today - timedelta(ago)) for ago in range(number)]

    def _hours(self, number: int) -> list[int]:
        """The last hours, this one first."""
        now_ms = self._clock()
        hours = (self._calendar.hour_of(now_ms - ago * HOUR_MS) for ago in range(number))
        return list(dict.fromkeys(map(hour_number, hours)))

    async def keep(self, day: int) -> None:
        """Store the list of a day, and what of it is most read ever."""
        pages = await self._site.shares_of_read(day)
        await self._site.keep_read(day, pages, KEPT_DAYS * DAY_MS)
        paths = [path for path in pages if path != UNLISTED]
        ever = dict(zip(paths, await self._views.counts(paths), strict=True))
        await self._site.keep_read(0, ever)


class Candidates(NamedTuple):
    """Pages with their views in lists; how many a page may have that is in none of them, and how
    many more than twice those in lists a page may have."""

    pages: Counter[str]
    others: float
    spare: float

    def paths(self, most: int) -> list[str]:
        return [path for path, _ in self.pages.most_common(most)]

    def most(self, ranked: Sequence[tuple[str, int]]) -> float:
        """How many one of these may have, or one that is in none of the lists."""
        return self.others + (STALE * ranked[0][1] + self.spare if ranked else 0)


def rise(hours: Sequence[int]) -> float:
    """How much more often a page is viewed in an hour now than usually, from its views by hour, the
    last one first. Both are means in which later hours weigh more (forward decay)."""
    return _decayed(hours, NOW_HOURS) - _decayed(hours, USUAL_HOURS)


def _decayed(hours: Sequence[int], half_life: float) -> float:
    weighed = sum(views * 0.5 ** (age / half_life) for age, views in enumerate(hours))
    return float(weighed) * log(2) / half_life


def _first(pages: Sequence[TopPage], scores: Sequence[float], count: int) -> list[TopPage]:
    """The pages of the highest scores above zero; of equal ones by path, so that each answer is the
    same."""
    ranked = sorted(zip(scores, pages, strict=True), key=lambda each: (-each[0], each[1].path))
    return [page for score, page in ranked[:count] if score > 0]

"""All pages of a period with their numbers, as an owner looks through them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..ids import digest
from .calendar import Calendar, number_of_months
from .most_read import CANDIDATES_A_TRIP, KEPT_DAYS, MAX_CANDIDATES, Candidates, MostRead
from .site_store import SiteViews
from .store import MOST_MONTHS, Views

# Pages times the months that are read of each: a thousand pages of two months beside each other.
MAX_PAGE_MONTHS = 6_000
# In the order of columns.
NO_TITLES: Mapping[str, str] = {}
COLUMNS = ("path", "views", "visitors", "change", "comments")


class ListedPage(NamedTuple):
    """A page's views in a period, its visitors by day, and the comments written on it; `before` are
    the views by people of the period before, None if that is not compared. All are exact, but for
    visitors of a day beyond MOST_EXACT."""

    path: str
    views: int
    people: int
    visitors: int
    comments: int
    before: int | None

    @property
    def change(self) -> int:
        return 0 if self.before is None else self.people - self.before


class PageList(NamedTuple):
    """`is_whole` if it has each page that was viewed in the period."""

    pages: Sequence[ListedPage]
    is_whole: bool

    def chosen(
        self, by: str, words: str = "", titles: Mapping[str, str] = NO_TITLES
    ) -> list[ListedPage]:
        """Pages with these words in their path or title, in the order of a column: highest numbers
        first, and paths from A to Z."""
        sought = words.casefold()
        found = sorted(
            page
            for page in self.pages
            if sought in page.path.casefold() or sought in titles.get(page.path, "").casefold()
        )
        if by == "path":
            return found
        return sorted(found, key=_SCORES[by], reverse=True)


_SCORES = {
    "views": lambda page: page.people,
    "visitors": lambda page: page.visitors,
    "change": lambda page: page.change,
    "comments": lambda page: page.comments,
}


class PageLists:
    """All coroutines raise StoreUnavailable, and ErrorReply for damage beyond one page or list."""

    def __init__(
        self, views: Views, site: SiteViews, calendar: Calendar, most_read: MostRead
    ) -> None:
        self._views = views
        self._site = site
        self._calendar = calendar
        self._most_read = most_read

    async def of(self, first: int, last: int, before: tuple[int, int] | None) -> PageList:
        """The pages viewed from one day such as 20261101 to another, and those that people
        commented on; their views in the period `before`."""
        periods = [(first, last), *([before] if before else [])]
        counts, commented, _ = await self._site.commented(
            self._calendar.starts_ms(first), self._calendar.ends_ms(last)
        )
        found, is_whole = await self._candidates(first, last)
        # Months up to now are read, since an hour of a month ends in a later one.
        months = number_of_months(periods[-1][0], self._most_read.last_days(1)[0])
        most = min(MAX_CANDIDATES, MAX_PAGE_MONTHS // min(max(months, 1), MOST_MONTHS))
        paths = list(dict.fromkeys([*commented.values(), *found.paths(most)]))
        pages = list[ListedPage]()
        for at in range(0, len(paths), CANDIDATES_A_TRIP):
            pages += await self._read(paths[at : at + CANDIDATES_A_TRIP], periods, counts)
        return PageList(
            [page for page in pages if page.views or page.comments],
            is_whole and len(found.pages) <= most,
        )

    async def _candidates(self, first: int, last: int) -> tuple[Candidates, bool]:
        """Pages that lists of these days have; or, where these are gone, the lists of ever."""
        kept = self._most_read.last_days(KEPT_DAYS)
        listed = [day for day in kept if first <= day <= last]
        is_kept = first >= min(kept)
        found = await self._most_read.candidates(listed if is_kept else [0, *kept])
        return found, is_kept and not found.others

    async def _read(
        self, paths: Sequence[str], periods: Sequence[tuple[int, int]], comments: Mapping[str, int]
    ) -> list[ListedPage]:
        as_people = await self._site.people()
        viewed = await self._views.between(paths, periods, as_people)
        return [
            ListedPage(
                path, *now, comments.get(digest(path), 0), before[0].people if before else None
            )
            for path, (now, *before) in zip(paths, viewed, strict=True)
        ]

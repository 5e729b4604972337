"""Views from before this service counted, as imports of logs add them to the statistics.

A day is imported once. The site remembers by which import, and while it is not done, a digest of
its views. Each step of it is marked in the same script call that adds its numbers: so an import may
be killed half way and repeated.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple

from ..counters import view_counter
from ..driver.client import RedisClient
from ..driver.keys import Keys
from ..driver.scripts import Script, Scripts
from .numbered import hashes
from .page_views import Month, PageViews
from .site_store import SiteViews
from .store import Views

# A day such as 20261123 divided by this is its month.
DAYS_OF_MONTH = 100
DAY_DIGITS = 8

# How to combine a number with an existing one; `source` and `referral` are `add` for a bounded
# number of them.
How = Literal["add", "most", "source", "referral"]


class PastDay(NamedTuple):
    """Which import a day is of, such as `access-log`, and the digest of its views, "" once all of
    them are stored."""

    tool: str
    id: str = ""

    @property
    def is_done(self) -> bool:
        return not self.id


class PageChange(NamedTuple):
    """Views of a page on a day such as 20261123, by bots of each class, too; its visitors of all
    that day."""

    path: str
    day: int
    views: int
    visitors: int
    bots: Mapping[str, int]


class SiteChange(NamedTuple):
    """A field of the site's sums of a month, or of its sources or referrals of a day."""

    how: How
    day: int
    field: str
    number: int


class OtherImport(Exception):
    """Another import has started one of the days."""


class PastViews:
    """`left_ms` returns for how many ms a month such as 202611 is kept from now on. `current` is
    this month, and the one before. All coroutines raise StoreUnavailable, and ErrorReply for a
    damaged key."""

    def __init__(
        self,
        redis: RedisClient,
        scripts: Scripts,
        keys: Keys,
        views: Views,
        site_views: SiteViews,
        left_ms: Callable[[int], int],
        current: tuple[int, int],
    ) -> None:
        self._redis = redis
        self._import = scripts["views/import"]
        self._import_site = scripts["views/import_site"]
        self._keys = keys
        self._views = views
        self._site_views = site_views
        self._left_ms = left_ms
        self._last, self._current = sorted(current)

    def group(self, path: str) -> int:
        """Pages of one group are changed together."""
        return self._keys.group(path)

    # The stored numbers.

    async def days(self, months: Sequence[int]) -> dict[int, PastDay]:
        """The days of these months that were imported."""
        months_read = await hashes(self._redis, [self._keys.site_files(month) for month in months])
        items = (item for fields in months_read for item in fields.items())
        # The other fields are marks of steps, which are longer.
        days = {int(day): text for day, text in items if len(day) == DAY_DIGITS and day.isdigit()}
        return {day: _past_day(text.decode(errors="replace")) for day, text in days.items()}

    async def counted_days(self, months: Sequence[int]) -> frozenset[int]:
        """The days of these months of which the site has views, its own or imported ones."""
        kept, shares = await self._site_views.kept(months), await self._site_views.shares()
        return frozenset(kept.days() | shares.days())

    # Adding.

    async def start(self, day: int, past: PastDay) -> bool:
        """Note which import a day is of, before its views are added; False if it is of another."""
        key, text = self._keys.site_files(day // DAYS_OF_MONTH), f"{past.tool} {past.id}"
        expiry = ("PEXPIRE", key, self._remembered_ms)
        await self._redis.change(("HSETNX", key, day, text), expiry)
        (stored,) = await self._redis.ask_masters(("HGET", key, day))
        return bool(stored == text.encode())

    async def finish(self, days: Iterable[int], tool: str) -> None:
        """Note that all views of these days are stored."""
        keys = self._keys
        commands = [("HSET", keys.site_files(day // DAYS_OF_MONTH), day, tool) for day in days]
        if commands:
            await self._redis.change(*commands)

    async def add(self, step: str, changes: Sequence[PageChange], *, counts: bool) -> bool:
        """Views of pages of one group on one day; False if this step was added before. With
        `counts` they are added to the pages' counters, too."""
        group, month = self._keys.group(changes[0].path), changes[0].day // DAYS_OF_MONTH
        return await self._added(
            self._import,
            step,
            files=self._keys.files_in(group, month),
            numbers=self._keys.numbers(group),
            pages=[key for change in changes for key in self._keys_of(change)],
            counts=counts,
            changes=[word for change in changes for word in self._words_of(change)],
        )

    async def add_to_site(self, step: str, changes: Sequence[SiteChange]) -> bool:
        """Add past views to the site's sums of one day."""
        return await self._added(
            self._import_site,
            step,
            files=self._keys.site_files(changes[0].day // DAYS_OF_MONTH),
            sums=[self._sum_of(change) for change in changes],
            changes=[word for change in changes for word in self._site_words_of(change)],
        )

    async def _added(self, script: Script, step: str, **values: Any) -> bool:
        (reply,) = await script(step=step, kept_ms=self._remembered_ms, **values)
        return bool(reply == b"OK")

    @property
    def _remembered_ms(self) -> int:
        """As long as any of their lines can be kept, since files may be older than these."""
        return self._left_ms(self._current)

    def _keys_of(self, change: PageChange) -> tuple[str, ...]:
        keys, path, month = self._keys, change.path, change.day // DAYS_OF_MONTH
        days = (keys.views(path).days(each) for each in (month, self._last, self._current))
        return (*days, keys.views(path).bots(month), keys.counts(view_counter(path)))

    def _words_of(self, change: PageChange) -> Iterable[object]:
        month, day = divmod(change.day, DAYS_OF_MONTH)
        name, left_ms = view_counter(change.path), self._left_ms(month)
        arguments = (name, day, change.views, change.visitors, left_ms, len(change.bots))
        return (*arguments, *chain(*change.bots.items()))

    def _sum_of(self, change: SiteChange) -> str:
        if change.how == "source":
            return self._keys.sources(change.day)
        if change.how == "referral":
            return self._keys.referrals(change.day)
        return self._keys.site_views(change.day // DAYS_OF_MONTH)

    def _site_words_of(self, change: SiteChange) -> Iterable[object]:
        left_ms = self._left_ms(change.day // DAYS_OF_MONTH)
        return change.how, change.field, change.number, left_ms

    # What follows from that.

    async def put_in_order(self, paths: Sequence[str], months: Sequence[int]) -> None:
        """Let no month of these pages end with more than the next one starts with."""
        pages = zip(paths, await self._views.of_pages(paths, months), strict=True)
        if commands := [command for path, page in pages for command in self._lowered(path, page)]:
            await self._redis.change(*commands)

    def _lowered(self, path: str, page: PageViews) -> Iterable[Sequence[object]]:
        limit: int | None = None
        for number in sorted(page.months, reverse=True):
            month = page.months[number]
            if limit is not None and month.end > limit:
                month = _ending_with(month, limit)
                fields = ("base", month.base, "undated", month.undated)
                yield ("HSET", self._keys.views(path).days(number), *fields)
            limit = month.base

    async def note_most_read(self, day: int, paths: Sequence[str], kept_ms: int) -> None:
        """Note candidates for the most viewed pages of a day, with their known views."""
        pages = zip(paths, await self._views.on_days(paths, [day]), strict=True)
        views = {path: of_day.views for path, (of_day,) in pages if of_day.views}
        await self._site_views.keep_read(day, views, kept_ms)

    async def note_most_read_ever(self, paths: Sequence[str]) -> None:
        counts = dict(zip(paths, await self._views.counts(paths), strict=True))
        await self._site_views.keep_read(0, {path: n for path, n in counts.items() if n})


def _ending_with(month: Month, end: int) -> Month:
    """A month, lowered: it started with less, or else some of its views have no day."""
    excess = month.end - end
    moved = max(0, min(month.base, excess))
    return month._replace(base=month.base - moved, undated=month.undated - excess + moved)


def _past_day(text: str) -> PastDay:
    tool, _, id = text.partition(" ")
    return PastDay(tool, id)

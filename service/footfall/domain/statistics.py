"""How often pages, and the whole site, were viewed, by day and by hour of the site's time zone."""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta

from ..store.views import Views
from .calendar import Calendar, date_of, day_number, days_between, months_between
from .moments import HOUR_MS, KEPT_HOURS, hour_number

# The longest month.
MONTH_MS = 31 * 24 * HOUR_MS
# An hour such as 2026112316 divided by this is its day.
DAY = 100


class Statistics:
    """`clock` returns Unix time in ms; days are kept for so many months besides their own.

    All coroutines raise StoreUnavailable, and ErrorReply for a damaged key.
    """

    def __init__(
        self, views: Views, calendar: Calendar, clock: Callable[[], int], months: int
    ) -> None:
        self._views = views
        self.calendar = calendar
        self._clock = clock
        self._months = months
        # The hour up to which this process has kept the site's.
        self._kept_until = 0

    def today(self) -> int:
        """A day such as 20261123."""
        return self.calendar.hour_of(self._clock()).day

    @staticmethod
    def days_before(day: int, days: int) -> int:
        """The day that was so many days before this one."""
        return day_number(date_of(day) - timedelta(days))

    async def days(self, path: str | None, first: int, last: int) -> dict[int, int]:
        """The views of each day from the first to the last, of a page, or with None of the site.

        Raises ValueError for such as are no days, or too many.
        """
        found = Counter[int]()
        if path is None:
            for hour, views in (await self._hours_of_site(first, last)).items():
                found[hour // DAY] += views
        else:
            months = await self._views.months(path, months_between(first, last))
            for month, each in months.items():
                found.update({DAY * month + day: views for day, views in each.days.items()})
        return {day: found[day] for day in days_between(first, last)}

    async def hours(self, path: str | None, first: int, last: int) -> dict[int, int]:
        """The same by hour, such as 2026112316, as far as it is known: of a page for three days."""
        if path is None:
            found = await self._hours_of_site(first, last)
        else:
            found = await self._views.hours(path)
        days = {*days_between(first, last)}
        return {hour: views for hour, views in found.items() if hour // DAY in days}

    async def _hours_of_site(self, first: int, last: int) -> Mapping[int, int]:
        """What is kept, and for hours whose parts are there still, their sum."""
        parts = await self._views.hours_of_site()
        kept = await self._views.kept_hours(months_between(first, last))
        return {**kept, **{hour: n for hour, n in parts.items() if n >= kept.get(hour, 0)}}

    async def keep_up(self) -> None:
        """Once an hour: keep the site's views of the hours that are over, and remove old parts."""
        now_ms = self._clock()
        now = hour_number(self.calendar.hour_of(now_ms))
        if now <= self._kept_until:
            return
        oldest = hour_number(self.calendar.hour_of(now_ms - KEPT_HOURS * HOUR_MS))
        parts = await self._views.hours_of_site()
        over = {hour: views for hour, views in parts.items() if hour < now}
        await self._views.keep(over, (self._months + 1) * MONTH_MS)
        await self._views.drop([hour for hour in over if hour < oldest])
        self._kept_until = now

"""Days and hours of statistics, in the time zone of the site.

A day is a number such as 20261123, a month 202611, so that keys and fields are short and in order.
A day of summer time has 23 or 25 hours: the hour that comes twice is counted as one, the one that
is left out stays empty.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
# How long a page's hours are kept, and how much longer their key.
KEPT_HOURS = 72
SPARE_HOURS = 2
HOURS_MS = (KEPT_HOURS + SPARE_HOURS) * HOUR_MS
# Since 1973 every zone's clock differs from UTC by whole minutes.
LEAST_MS = 94_694_400_000
# The end of the year 9998: one day more is still a date in any zone.
MOST_MS = 253_370_764_800_000
# More than fits into one picture: twenty years.
MAX_DAYS = 7_320


# Of statistics: backups have the years of one century. A day and three months beside them are of
# it, too.
EARLIEST_MS, LATEST_MS = 952_000_000_000, 4_070_000_000_000


class LocalHour(NamedTuple):
    """`day` is a number such as 20261123, `hour` from 0 to 23."""

    day: int
    hour: int


class Calendar:
    """The clock of a time zone.

    Views come in the order of time, so the last minute is cached for all of its views.
    """

    def __init__(self, zone: ZoneInfo) -> None:
        self.zone = zone
        self._known: tuple[int | None, LocalHour] = None, LocalHour(0, 0)

    def hour_of(self, at_ms: int) -> LocalHour:
        """The hour of a time in ms since the epoch. Raises ValueError before 1973 and from 9999."""
        minute = at_ms // MINUTE_MS
        known, hour = self._known
        if known != minute:
            hour = self._hour_of(at_ms)
            # In one step, since threads may share the calendar.
            self._known = minute, hour
        return hour

    def starts_ms(self, day: int) -> int:
        """When a day such as 20261123 starts, in ms since the epoch."""
        return self._midnight_ms(date_of(day))

    def ends_ms(self, day: int) -> int:
        return self._midnight_ms(date_of(day) + timedelta(1))

    def _midnight_ms(self, day: date) -> int:
        return int(datetime.combine(day, time(), self.zone).timestamp()) * 1000

    def _hour_of(self, at_ms: int) -> LocalHour:
        if not LEAST_MS <= at_ms < MOST_MS:
            raise ValueError(f"{at_ms} ms is not a time from 1973 to 9998")
        local = datetime.fromtimestamp(at_ms // 1000, UTC).astimezone(self.zone)
        return LocalHour(day_number(local), local.hour)


def datable(clock: Callable[[], int]) -> Callable[[], int]:
    """A clock that dates views, unless it is far off: a machine without a battery starts in 1970,
    and may count views before it has synchronised its clock."""
    return lambda: min(max(clock(), EARLIEST_MS), LATEST_MS)


def day_number(day: date) -> int:
    return day.year * 10_000 + day.month * 100 + day.day


def date_of(day: int) -> date:
    """Raises ValueError if there is no such day."""
    if not 0 < day < 100_000_000:
        raise ValueError(f"{day} is not a day such as 20261123")
    year, rest = divmod(day, 10_000)
    return date(year, *divmod(rest, 100))


def month_of(day: int) -> int:
    return day // 100


def days_between(first: int, last: int) -> list[int]:
    """All days from the first to the last; none if that is earlier.

    Raises ValueError if one of them does not exist, or for more than MAX_DAYS.
    """
    start = date_of(first)
    number = (date_of(last) - start).days + 1
    if number > MAX_DAYS:
        raise ValueError(f"{number} days are more than {MAX_DAYS}")
    return [day_number(start + timedelta(days)) for days in range(number)]


def number_of_months(first: int, last: int) -> int:
    """How many months have a day of this period."""
    start, end = date_of(first), date_of(last)
    return 12 * (end.year - start.year) + end.month - start.month + 1


def period_before(first: int, last: int) -> tuple[int, int]:
    """As many days as from the first to the last, which end before the first."""
    start, days = date_of(first), date_of(last) - date_of(first)
    return day_number(start - days - timedelta(1)), day_number(start - timedelta(1))


def months_between(first: int, last: int) -> list[int]:
    """The months of these days, each once. Raises ValueError as days_between does."""
    return list(dict.fromkeys(map(month_of, days_between(first, last))))

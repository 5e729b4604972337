"""The times of views, as arguments of each batch."""

from collections.abc import Callable
from datetime import UTC, datetime

from ..driver.commands import pack_word
from .calendar import HOUR_MS, HOURS_MS, KEPT_HOURS, Calendar, LocalHour, date_of, month_of
from .moment import NO_MOMENT, Moment
from .salts import Salts


class Moments:
    """Supplies the moment in the time zone of a calendar. Days are kept for this many months in
    addition to their own.

    `salts` are those of the known days, if visitors are distinguished. Most batches fall into the
    same hour as the one before.
    """

    def __init__(
        self, calendar: Calendar, clock: Callable[[], int], months: int, salts: Salts | None = None
    ) -> None:
        """`clock` returns Unix time in ms."""
        self._calendar = calendar
        self._clock = clock
        self._months = months
        self.salts = salts
        self._hour = LocalHour(0, 0)
        self._moment = NO_MOMENT

    def __call__(self) -> Moment:
        now_ms = self._clock()
        hour = self._calendar.hour_of(now_ms)
        if hour != self._hour:
            self._moment = self._moment_of(hour, now_ms)
            self._hour = hour
        if self.salts and self._moment.salted is None:
            self._moment = self._moment._replace(salted=self.salts.get(hour.day))
        return self._moment

    def _moment_of(self, hour: LocalHour, now_ms: int) -> Moment:
        latest = self._calendar.hour_of(now_ms + HOUR_MS)
        oldest = self._calendar.hour_of(now_ms - KEPT_HOURS * HOUR_MS)
        arguments = {
            "day": hour.day % 100,
            "hour": hour_number(hour),
            "latest": hour_number(latest),
            "oldest": hour_number(oldest),
            "hours_ms": HOURS_MS,
            "days_ms": self._end_of(month_of(hour.day)) - now_ms,
            "day_ms": self._calendar.ends_ms(hour.day) - now_ms,
        }
        return Moment(hour_number(hour), arguments, b"".join(map(pack_word, arguments.values())))

    def _end_of(self, month: int) -> int:
        """The end of a stored month, as Unix time in ms."""
        first = date_of(100 * month + 1)
        years, index = divmod(first.month + self._months, 12)
        return int(datetime(first.year + years, index + 1, 1, tzinfo=UTC).timestamp()) * 1000


def hour_number(hour: LocalHour) -> int:
    """Such as 2026112316."""
    return 100 * hour.day + hour.hour

"""The salt of a day, with which its visitors are numbered (visitors.py).

It is random, one for all services, and Redis removes it when the day ends: nothing else has it, no
backup and no log. So that views at midnight find one, it is made in the hour before its day.
"""

from collections.abc import Callable
from secrets import token_bytes

from ..store.site_views import SiteViews
from . import visitors
from .calendar import HOUR_MS, Calendar

SALT_BYTES = 32


class Salts(dict[int, bytes]):
    """Those that are known, by day. All coroutines raise StoreUnavailable."""

    def __init__(self, calendar: Calendar, clock: Callable[[], int]) -> None:
        """`clock` returns Unix time in ms."""
        self._calendar = calendar
        self._clock = clock

    async def keep_up(self, kept: SiteViews) -> bool:
        """Make or find those that are missing, and forget those of days that are over: then True,
        since what was made with them is to be forgotten, too."""
        now_ms = self._clock()
        needed = {self._calendar.hour_of(at).day for at in (now_ms, now_ms + HOUR_MS)}
        for day in needed - self.keys():
            lasts_ms = self._calendar.ends_ms(day) - now_ms
            self[day] = await kept.salt(day, token_bytes(SALT_BYTES), lasts_ms)
        over = self.keys() - needed
        for day in over:
            del self[day]
        if over:
            visitors.forget()
        return bool(over)

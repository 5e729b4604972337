"""The salt of a day, with which its visitors are numbered (visitors.py).

It is random, one for all services, and Redis removes it when the day ends: nothing else has it, no
backup and no log. So that views at midnight find one, it is made in the hour before its day.
"""

from collections.abc import Callable
from hashlib import blake2b
from secrets import token_bytes

from .calendar import HOUR_MS, Calendar
from .site_store import SiteViews
from .visitors import salted

SALT_BYTES = 32


class Salts(dict[int, "blake2b"]):
    """What visitors are numbered with, by day, as far as it is known. All coroutines
    raise StoreUnavailable."""

    def __init__(self, calendar: Calendar, clock: Callable[[], int], site: str) -> None:
        """`clock` returns Unix time in ms; two sites have other numbers of the same visitor."""
        self._site = site
        self._calendar = calendar
        self._clock = clock

    def forget(self) -> None:
        """Forget the salts of days that are over."""
        for day in self.keys() - self._needed(self._clock()):
            del self[day]

    async def keep_up(self, kept: SiteViews) -> None:
        """Make or find those that are missing, and forget those of days that are over."""
        self.forget()
        now_ms = self._clock()
        for day in self._needed(now_ms) - self.keys():
            lasts_ms = self._calendar.ends_ms(day) - now_ms
            salt = await kept.salt(day, token_bytes(SALT_BYTES), lasts_ms)
            # With a damaged salt, visitors could not be numbered, and no view counted.
            if len(salt) == SALT_BYTES:
                self[day] = salted(salt, self._site)

    def _needed(self, now_ms: int) -> set[int]:
        return {self._calendar.hour_of(at).day for at in (now_ms, now_ms + HOUR_MS)}

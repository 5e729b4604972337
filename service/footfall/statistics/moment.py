"""The time of a view, as an argument of lua/counters/count.lua."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import NamedTuple


class Moment(NamedTuple):
    """An hour such as 2026112316, and the script's arguments for it, by name and packed.

    Visitors are numbered with a salted hash; without it they are not distinguished.
    """

    hour: int
    arguments: Mapping[str, int]
    packed: bytes
    salted: "blake2b | None" = None

    @property
    def day(self) -> int:
        return self.hour // 100

    @property
    def month(self) -> int:
        return self.hour // 10_000

    @property
    def days_ms(self) -> int:
        """How long the month is kept."""
        return self.arguments["days_ms"]

    @property
    def day_ms(self) -> int:
        """How long visitors' numbers are kept."""
        return self.arguments["day_ms"]


NO_MOMENT = Moment(0, {}, b"")

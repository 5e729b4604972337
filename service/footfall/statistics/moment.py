"""The time of a view, as an argument of lua/counters/count.lua."""

from hashlib import blake2b
from typing import NamedTuple


class Moment(NamedTuple):
    """A day such as 20261123, and `packed`, the script's argument for it. The month is kept for
    `days_ms`, visitors' numbers for `day_ms`.

    Visitors are numbered with a salted hash; without it they are not distinguished.
    """

    day: int
    packed: bytes
    days_ms: int
    day_ms: int
    salted: "blake2b | None" = None

    @property
    def month(self) -> int:
        return self.day // 100

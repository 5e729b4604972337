"""The open hour of a page: its views are what its counter has grown by since the first of them.

Redis stores the count before it, and adds its views to their day only when the next hour opens
(lua/counters/count.lua). Who reads the views of a page does the same with what was read.
"""

from collections.abc import Sequence
from typing import NamedTuple

from .numbered import is_number, number_or_0

Fields = dict[bytes, bytes]

# Fields of a month: what its count was before, what has no day, and the open hour with the count
# before it; after a space, a class of bots in this hour.
BASE, UNDATED, OPEN = b"base", b"undated", b"open"


class Stored(NamedTuple):
    """A month such as 202611 as Redis has it: its hashes of days and of bots."""

    number: int
    days: Fields
    bots: Fields


def closed(months: Sequence[Stored], hours: Fields, count: int) -> None:
    """Add open hours to their days, and to the page's hours. `months` are all up to now, the oldest
    first: such an hour ends when the next month starts, or with the count."""
    end = count
    for month in reversed(months):
        _close(month, hours, end)
        if BASE in month.days:
            end = number_or_0(month.days[BASE])


def _close(month: Stored, hours: Fields, end: int) -> None:
    days = month.days
    hour, _, before = days.pop(OPEN, b"").partition(b" ")
    mark = OPEN + b" "
    by_bots = {field: days.pop(field) for field in [*days] if field.startswith(mark)}
    if not is_number(hour) or not is_number(before.removeprefix(b"-")):
        return
    day = b"%d" % (int(hour) // 100 % 100)
    # Another clock may have opened the next month earlier.
    views = max(0, end - int(before))
    _add(days, day, views)
    _add(hours, hour, views)
    for field, number in by_bots.items():
        by_class = min(views, number_or_0(number))
        views -= by_class
        _add(month.bots, day + field.removeprefix(OPEN), by_class)
        _add(hours, hour + field.removeprefix(OPEN), by_class)


def _add(fields: Fields, field: bytes, number: int) -> None:
    if number:
        fields[field] = b"%d" % (number_or_0(fields.get(field)) + number)

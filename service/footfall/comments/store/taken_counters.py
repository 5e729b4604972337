"""What a move has taken of a page's counters, and in which words lua/counters/give.lua gets it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from ...statistics.open_hour import UNDATED
from ...statistics.page_views import Month


class Visitors(NamedTuple):
    """A page's visitors of a day such as 20261123: their numbers, or a sketch of them."""

    day: int
    kept_ms: int
    numbers: Sequence[bytes]
    sketch: bytes = b""


class TakenCounters(NamedTuple):
    """All counters of a page by name, with its views by month and by hour, and its visitors by day;
    and for how many ms to keep each month, and hours."""

    id: str
    target: str
    counts: Mapping[str, int]
    months: Mapping[int, Month]
    months_ms: Mapping[int, int]
    hours: Mapping[str, int]
    hours_ms: int
    visitors: Sequence[Visitors]

    def before(self, month: int, count: int) -> int:
        """The count that the page had before a month; `count` is that of now."""
        if month in self.months:
            return self.months[month].base
        earlier = [earlier_month for earlier_month in self.months if earlier_month < month]
        if earlier:
            return self.months[max(earlier)].end
        return self.months[min(self.months)].base if self.months else count


def words_of_months(taken: TakenCounters, months: Sequence[int], count: int) -> Iterator[object]:
    for number in months:
        yield from (taken.before(number, count), taken.months_ms.get(number, 0))
        month = taken.months.get(number)
        if not month:
            yield from (0, 0)
            continue
        days = {str(day): n for day, n in month.days.items()}
        days[UNDATED.decode()] = month.undated
        days |= {f"v{day}": n for day, n in _unknown_visitors(taken, month).items()}
        days |= {f"b{day}": sum(of.values()) for day, of in month.bots.items()}
        bots = {f"{day} {name}": n for day, of in month.bots.items() for name, n in of.items()}
        yield from counted({field: n for field, n in days.items() if n})
        yield from counted(bots)


def _unknown_visitors(taken: TakenCounters, month: Month) -> dict[int, int]:
    """Visitors by day of the month, but for those that are known by their numbers, or a sketch."""
    unknown = dict(month.visitors)
    for visitor in taken.visitors:
        day = visitor.day % 100
        if visitor.day // 100 == month.number and day in unknown:
            unknown[day] = 0 if visitor.sketch else max(unknown[day] - len(visitor.numbers), 0)
    return unknown


def counted(numbers: Mapping[Any, int]) -> Iterator[object]:
    yield len(numbers)
    yield from chain.from_iterable(numbers.items())


def words_of_visitors(visitors: Visitors, place: int) -> Iterator[object]:
    yield from (place, f"v{visitors.day % 100}")
    if visitors.sketch:
        yield from (-1, visitors.sketch)
    else:
        yield from (len(visitors.numbers), *visitors.numbers)

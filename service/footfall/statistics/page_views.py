"""The numbers of a page's views, as they are read."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .numbered import by_number, fields_of, is_number, number_or_0
from .open_hour import BASE, UNDATED, Fields, Stored, closed


class Month(NamedTuple):
    """A page's views in a month: the count before, by day of the month, and what else was added to
    the counter or taken from it; visitors, and views by class of bots, by day."""

    number: int
    base: int
    days: Mapping[int, int]
    undated: int
    visitors: Mapping[int, int]
    bots: Mapping[int, Counter[str]]

    @property
    def growth(self) -> int:
        """Additions to the count in it."""
        return sum(self.days.values()) + self.undated

    @property
    def end(self) -> int:
        """The count at its end."""
        return self.base + self.growth


_NO_MONTH = Month(0, 0, {}, 0, {}, {})


class PageViews(NamedTuple):
    """The count of a page, and all its stored views by month and by hour."""

    total: int
    months: Mapping[int, Month]
    hours: Mapping[str, int]
    # A key of its has something else, and counts as empty.
    is_damaged: bool

    @property
    def newest(self) -> Month | None:
        return self.months[max(self.months)] if self.months else None

    @property
    def unexplained(self) -> int:
        """How many views its newest month lacks up to its count; less than 0 if it has too many.

        The same together with the month before, if that explains more of them.
        """
        *earlier, newest = (self.months[month] for month in sorted(self.months))
        alone = self.total - newest.end
        if not earlier:
            return alone
        return min(alone, self.total - earlier[-1].end - newest.growth, key=abs)


class Read(NamedTuple):
    """What is stored of a page; its open hours are added to their days, and to its hours."""

    total: int
    months: Mapping[int, Stored]
    hours: Fields
    # Of what is something else, and counts as empty.
    errors: Sequence[Exception]


class Viewed(NamedTuple):
    """How often a page was viewed on a day, how often not by bots, and by how many people."""

    views: int
    people: int
    visitors: int


def read_of(months: Sequence[int], replies: Sequence[Any]) -> Read:
    count, *hashes = replies
    errors = [reply for reply in hashes if isinstance(reply, Exception)]
    fields = [{} if isinstance(reply, Exception) else fields_of(reply) for reply in hashes]
    stored = list(map(Stored, months, fields[:-1:2], fields[1:-1:2]))
    number = 0 if isinstance(count, Exception) else number_or_0(count)
    closed(stored, fields[-1], number)
    return Read(number, {month.number: month for month in stored}, fields[-1], errors)


def months_of(page: Read, months: Iterable[int]) -> dict[int, Month]:
    read = ((month, page.months.get(month)) for month in months)
    return {month: month_of(*stored) for month, stored in read if stored and stored.days}


def month_of(month: int, fields: Mapping[bytes, bytes], bots: Mapping[bytes, bytes]) -> Month:
    base, undated = number_or_0(fields.get(BASE)), number_or_0(fields.get(UNDATED))
    return Month(
        month, base, by_number(fields), undated, by_number(fields, b"v"), by_class(bots.items())
    )


def people_of(views: int, bots: Mapping[str, int], as_people: frozenset[str]) -> int:
    """The views that are by people."""
    return views - sum(number for name, number in bots.items() if name not in as_people)


def on_days(
    months: Mapping[int, Month], days: Sequence[int], as_people: frozenset[str]
) -> list[Viewed]:
    viewed = list[Viewed]()
    for day in days:
        month, at = months.get(day // 100, _NO_MONTH), day % 100
        views = month.days.get(at, 0)
        people = people_of(views, month.bots.get(at, {}), as_people)
        viewed.append(Viewed(views, people, month.visitors.get(at, 0)))
    return viewed


def between(
    months: Mapping[int, Month], first: int, last: int, as_people: frozenset[str]
) -> Viewed:
    """The sum of the days from the first to the last; visitors of two days count twice."""
    views = people = visitors = 0
    for number, month in months.items():
        days = [day for day in month.days if first <= number * 100 + day <= last]
        for day in days:
            views += month.days[day]
            people += people_of(month.days[day], month.bots.get(day, {}), as_people)
            visitors += month.visitors.get(day, 0)
    return Viewed(views, people, visitors)


def in_hours(
    fields: Mapping[bytes, bytes], hours: Sequence[int], as_people: frozenset[str]
) -> list[tuple[int, int]]:
    views, bots = by_number(fields), by_class(fields.items())
    return [
        (views.get(hour, 0), people_of(views.get(hour, 0), bots.get(hour, {}), as_people))
        for hour in hours
    ]


def by_class(fields: Iterable[tuple[bytes, bytes]]) -> dict[int, Counter[str]]:
    """Views by class of bots, by day, of fields such as "23 ai-crawler"."""
    classes = defaultdict[int, Counter[str]](Counter)
    for field, views in fields:
        day, _, name = field.partition(b" ")
        if name and is_number(day) and is_number(views):
            classes[int(day)][name.decode(errors="replace")] += int(views)
    return classes

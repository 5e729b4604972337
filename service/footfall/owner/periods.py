"""The period that an owner has chosen, and what it is compared with."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import groupby
from typing import Literal, NamedTuple

from ..http.page_words import PageWords
from ..markup import shortened, visible
from ..statistics.calendar import date_of, day_number, period_before

DAYS = (7, 30, 90, 365, 730)
DEFAULT_DAYS, MAX_PERIOD_DAYS = 30, DAYS[-1]
FIRST_YEAR = 2000
# Both periods together: of longer ones, the earlier one is seldom stored, and takes long to read.
MAX_COMPARED_DAYS = 730
# Longer periods are shown by week, and longer ones than these by month.
MAX_DAYS_BY_DAY, MAX_DAYS_BY_WEEK = 92, 366
MAX_SHOWN_CHARACTERS = 40

Unit = Literal["day", "week", "month"]


class NotAPeriod(Exception):
    """The fields name no period; in words, for the person who chose them."""


class Span(NamedTuple):
    """From one day such as 20261101 to another; `is_chosen`: by dates, not as the last days."""

    first: int
    last: int
    is_chosen: bool = False
    compares: Literal["before", "year"] = "before"

    @property
    def days(self) -> int:
        return (date_of(self.last) - date_of(self.first)).days + 1

    @property
    def dates(self) -> tuple[date, date]:
        return date_of(self.first), date_of(self.last)

    @property
    def before(self) -> tuple[int, int] | None:
        """As many days: those before, or from the same day of the year before."""
        if self.compares == "year":
            start = _year_before(date_of(self.first))
            return day_number(start), day_number(start + timedelta(self.days - 1))
        is_stored = 2 * self.days <= MAX_COMPARED_DAYS
        return period_before(self.first, self.last) if is_stored else None

    @property
    def unit(self) -> Unit:
        """What has a bar of its own."""
        if self.days <= MAX_DAYS_BY_DAY:
            return "day"
        return "week" if self.days <= MAX_DAYS_BY_WEEK else "month"

    def fields(self) -> dict[str, str]:
        """By which a link asks for it again."""
        fields = {"days": str(self.days)}
        if self.is_chosen:
            first, last = self.dates
            fields = {"from": first.isoformat(), "to": last.isoformat()}
        return fields | ({"compare": "year"} if self.compares == "year" else {})

    def name(self, words: PageWords) -> str:
        if self.is_chosen:
            return " – ".join(dict.fromkeys(map(words.day, self.dates)))
        return words.say("lastDays", self.days)


def _year_before(day: date) -> date:
    is_leap_day = (day.month, day.day) == (2, 29)
    return day.replace(year=day.year - 1, day=28 if is_leap_day else day.day)


def span_of(query: Mapping[str, str], today: int, words: PageWords) -> Span:
    """From one date to another if one is given, else this many days up to today. Raises NotAPeriod
    with the field's name in words."""
    compares: Literal["before", "year"] = "year" if query.get("compare") == "year" else "before"
    if query.get("from") or query.get("to"):
        first, last = (_date(query.get(name, ""), name, words) for name in ("from", "to"))
        if first > date_of(today):
            raise NotAPeriod(words.say("dateInFuture", field=words.say("from")))
        if last > date_of(today):
            raise NotAPeriod(words.say("dateInFuture", field=words.say("to")))
        if first > last:
            raise NotAPeriod(
                words.say("fromAfterTo", 0, **{each: words.say(each) for each in ("from", "to")})
            )
        if (last - first).days >= MAX_PERIOD_DAYS:
            raise NotAPeriod(words.say("tooManyDays", MAX_PERIOD_DAYS))
        return Span(day_number(first), day_number(last), True, compares)
    wanted = query.get("days", "")
    days = next((days for days in DAYS if str(days) == wanted), DEFAULT_DAYS)
    return last_days(days, today)._replace(compares=compares)


def asked_span(query: Mapping[str, str], today: int, words: PageWords) -> tuple[Span, str]:
    """The period of a page; and what is wrong with the fields, "" if nothing is."""
    try:
        return span_of(query, today, words), ""
    except NotAPeriod as error:
        return last_days(DEFAULT_DAYS, today), str(error)


def last_days(days: int, today: int) -> Span:
    return Span(day_number(date_of(today) - timedelta(days - 1)), today)


def _date(text: str, name: str, words: PageWords) -> date:
    field = words.say(name)
    if not text:
        raise NotAPeriod(words.say("noDate", field=field))
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or day.isoformat() != text or not FIRST_YEAR <= day.year < 9999:
        shown = visible(shortened(text, MAX_SHOWN_CHARACTERS))
        raise NotAPeriod(words.say("notADate", field=field, text=shown))
    return day


def grouped(days: Sequence[int], unit: Unit) -> Iterator[Sequence[int]]:
    """These days by week from Monday, or by month; the first and the last may be parts."""

    def key(day: int) -> object:
        if unit == "month":
            return day // 100
        return date_of(day).isocalendar()[:2] if unit == "week" else day

    for _, some in groupby(days, key):
        yield [*some]

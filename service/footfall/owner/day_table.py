"""The days of a report as the owner's pages show them: bars, a table, and sums."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..http.page_words import PageWords
from ..markup import shortened, visible
from ..render.charts import Bar, bars
from ..statistics.calendar import date_of
from ..statistics.referrals import host_of
from ..statistics.reports import Report, Reports
from ..statistics.source_views import Source
from . import source_names
from .periods import Unit, grouped

# Of a name in a list; its page has all of it.
MAX_SHOWN_CHARACTERS = 100
NO_NOTES: Mapping[int, str] = {}


class DayRow(NamedTuple):
    """`day` is in words, and may be a week or a month; `before` are the views by people on the days
    in the same place of the period before."""

    day: str
    people: int
    visitors: int
    bots: int
    before: int
    note: str = ""


def rows_of(
    report: Report,
    before: Report | None,
    words: PageWords,
    unit: Unit = "day",
    notes: Mapping[int, str] = NO_NOTES,
) -> list[DayRow]:
    """Each day, week or month, beside that of the period before, if known, with its notes."""
    earlier = list(before.days.values()) if before else []
    rows, at = list[DayRow](), 0
    for days in grouped([*report.days], unit):
        some = [report.days[day] for day in days]
        views, people = sum(day.views for day in some), sum(map(report.people_of, some))
        same = earlier[at : at + len(days)]
        rows.append(
            DayRow(
                _name_of(days, unit, words),
                people,
                sum(day.visitors for day in some),
                views - people,
                sum(map(report.people_of, same)),
                " · ".join(notes[day] for day in days if day in notes),
            )
        )
        at += len(days)
    return rows


def _name_of(days: Sequence[int], unit: Unit, words: PageWords) -> str:
    if unit == "month":
        return words.month(date_of(days[0]))
    return " – ".join(words.day(date_of(day)) for day in dict.fromkeys((days[0], days[-1])))


class Kept(NamedTuple):
    """Whether visitors are stored, and whether bots are distinguished from people, or were."""

    visitors: bool
    bots: bool


def kept_of(report: Report | None, statistics: Reports) -> Kept:
    has_bots = statistics.keeps_visitors or bool(report and report.bots)
    return Kept(statistics.keeps_visitors, has_bots)


class Chart(NamedTuple):
    """The picture as SVG, its labels at equal distances, and the number at its top."""

    svg: str
    marks: Sequence[str]
    top: str


def chart_of(rows: Sequence[DayRow], words: PageWords, *, has_visitors: bool) -> Chart:
    """Bars of views by people, those by bots on top of them, and the period before as a line."""
    heights = [
        Bar(_title(row, words, has_visitors), (row.people, row.bots), bool(row.note))
        for row in rows
    ]
    first, last = rows[0].day, rows[-1].day
    name = words.say("chartOf", sum(row.people for row in rows), first=first, last=last)
    top = max(max(row.people + row.bots, row.before) for row in rows)
    svg = bars(heights, name, [row.before for row in rows])
    return Chart(svg, (first, last), words.number(top))


def _title(row: DayRow, words: PageWords, has_visitors: bool) -> str:
    parts = [words.say("viewsOf", row.people)]
    if has_visitors:
        parts.append(words.say("visitorsOf", row.visitors))
    if row.bots:
        parts.append(words.say("botsOf", row.bots))
    if row.note:
        parts.append(row.note)
    return f"{row.day}: {', '.join(parts)}"


class Period(NamedTuple):
    """A period as text: views and visitors, and their change; "" for unknown ones."""

    name: str
    views: str
    visitors: str
    before: str


def period_of(
    name: str,
    now: Report,
    before: Report | None,
    words: PageWords,
    *,
    has_visitors: bool,
    is_today: bool = False,
) -> Period:
    """These days, compared with others; `visitors` is "" without visitors. It `is_today` if it is
    the one day that is not over."""
    visitors = words.say("visitorsOf", now.visitors)
    return Period(
        name,
        words.number(now.people),
        (visitors if now.is_exact else f"≈ {visitors}") if has_visitors else "",
        _compared(now.people, before.people, words, is_today=is_today) if before else "",
    )


def last_days(report: Report, days: int, *, skip: int = 0) -> Report:
    """The last days, or as many before them."""
    end = len(report.days) - skip
    return report._replace(days=dict([*report.days.items()][max(0, end - days) : end]))


def _compared(now: int, before: int, words: PageWords, *, is_today: bool) -> str:
    if is_today:
        # The day is not over: a lower number is not a loss yet.
        return words.say("yesterdayWere", before)
    if before <= 0:
        return words.say("noneBefore")
    return words.say("comparedTo", before, change=words.change(now, before))


def shown(name: str) -> str:
    """What a stranger has named, in a list: short, and each character of it to be seen."""
    return visible(shortened(name, MAX_SHOWN_CHARACTERS))


class SourceRow(NamedTuple):
    """A source by its name, and its host where that is another; `is_exact` if it has no more views
    than these; `address` leads to its pages."""

    name: str
    host: str
    views: int
    is_exact: bool = True
    address: str = ""


def sources_of(
    sources: Sequence[Source] | None,
    report: Report | None,
    words: PageWords,
    most: int,
    link: Callable[[str], str] = lambda host: "",
) -> list[SourceRow]:
    """The most frequent ones, and views by people without a source. `link` makes the address of a
    host's pages."""
    first = sorted(sources or (), key=lambda source: -source.views)[:most]
    rows = [source_row(source, words, link) for source in first]
    direct = report.people - sum(source.views for source in sources or ()) if report else 0
    # Bots that count as people may have been sources, too.
    return rows + ([SourceRow(words.say("direct"), "", direct)] if rows and direct > 0 else [])


def source_row(
    source: Source, words: PageWords, link: Callable[[str], str] = lambda host: ""
) -> SourceRow:
    """A host, maybe with the path of its page; or the others together."""
    host, whole = host_of(source.host), shown(source.host)
    name = source_names.name_of(host)
    return SourceRow(
        name or whole or words.say("otherSources"),
        whole if name else "",
        source.views,
        source.is_exact,
        link(host) if host else "",
    )

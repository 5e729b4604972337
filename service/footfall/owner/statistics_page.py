"""/ui/statistics: the days and hours of one page, or of the site with its pages, beside those
before."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import NamedTuple
from urllib.parse import quote

from ..http.page_words import PageWords
from ..http.params import MAX_PATH
from ..markup import visible
from ..render.charts import Bar, bars
from ..render.page_address import page_address, page_path
from ..statistics.audience import told
from ..statistics.calendar import KEPT_HOURS, date_of, day_number
from ..statistics.page_list import PageList
from .day_table import Chart, SourceRow, chart_of, kept_of, period_of, rows_of, sources_of
from .overview import History, history, readable
from .page_table import known_page, table_of, titles_of
from .pages import Asked
from .periods import DAYS, Span, asked_span
from .statistics_files import TABLES

# Between two marks below the hours.
MARKED_HOURS = 24
# Of the hosts from which readers come.
SHOWN_SOURCES = 20
SHOWN_CLASSES = 8
# Of longer periods, the hours of all days are added up.
MAX_DAYS_BY_HOUR = KEPT_HOURS // 24


class Shown(NamedTuple):
    """What the page is about: a page, or with None the site; or words that name none, and `pages`
    with these words in their path."""

    path: str | None
    words: str
    pages: PageList | None
    history: History | None
    titles: Mapping[str, str]


async def show(asked: Asked) -> tuple[str, Mapping[str, object]]:
    statistics = asked.site.statistics.reports
    span, problem = asked_span(asked.query, statistics.today(), asked.words)
    shown = await _read(asked, span) if statistics.is_on and not problem else None
    # In a thread: two years are a thousand words.
    values = await asyncio.to_thread(_values, shown, asked, span)
    word = await readable(asked.site.statistics.site_views.shared())
    link = f"{asked.server_url}/statistics?token={quote(word)}" if word else ""
    return "statistics.html", {**values, "problem": problem, "shared": link}


async def _read(asked: Asked, span: Span) -> Shown:
    site, typed = asked.site, _typed(asked)
    path = await readable(known_page(site.counting, typed, asked.site_url)) if typed else None
    if path:
        titles = await readable(site.statistics.titles.of([path])) or {}
        return Shown(path, "", None, await history(site, path, span), titles)
    words = page_path(typed, asked.site_url).lstrip("/") if typed else ""
    lists = readable(site.statistics.reports.pages(span.first, span.last, span.before))
    if words:
        pages = await lists
        return Shown(None, words, pages, None, await titles_of(asked, pages))
    whole, pages = await asyncio.gather(history(site, None, span), lists)
    return Shown(None, "", pages, whole, await titles_of(asked, pages))


def _typed(asked: Asked) -> str:
    return asked.query.get("path", "")[:MAX_PATH].strip()


def _values(shown: Shown | None, asked: Asked, span: Span) -> dict[str, object]:
    statistics, path = asked.site.statistics.reports, shown.path if shown else None
    past = shown.history if shown else None
    typed = _typed(asked)
    of_path = {"path": path or typed} if path or typed else {}
    return {
        "path": path or typed,
        "name": visible(path or typed),
        "address": page_address(path, asked.site_url) if path and asked.site_url else "",
        "is_unknown": bool(shown and shown.words),
        "site_url": page_address("/", asked.site_url) if asked.site_url else "",
        "days": 0 if span.is_chosen else span.days,
        "span": span.name(asked.words),
        "dates": [asked.query.get(name, "") for name in ("from", "to")],
        "compares": span.compares,
        "files": {
            name: asked.link("statistics.csv", table=name, **of_path, **span.fields())
            for name in TABLES
        },
        "choices": [(days, asked.link("statistics", **of_path, days=str(days))) for days in DAYS],
        "is_on": statistics.is_on,
        "kept": kept_of(past.report if past else None, statistics),
        "count": past.count if past else None,
        "sources": _sources(past, asked, span),
        "audience": audience_of(past, asked.words),
        "unit": span.unit,
        "title": visible(shown.titles.get(path, "")) if shown and path else "",
        "table": table_of(shown.pages, shown.titles, asked, span, shown.words)
        if shown and shown.pages
        else None,
        **_days_of(past, asked, span),
        **_hours_of(past, asked, span, is_page=path is not None),
    }


def _sources(past: History | None, asked: Asked, span: Span) -> list[SourceRow]:
    if past is None:
        return []

    def link(host: str) -> str:
        return asked.link("source", host=host, **span.fields())

    return sources_of(past.sources, past.report, asked.words, SHOWN_SOURCES, link)


class ClassRow(NamedTuple):
    name: str
    visitors: int
    share: str


def audience_of(shown: History | None, words: PageWords) -> list[tuple[str, list[ClassRow]]]:
    """By kind, the classes of visitors with most of them, in words."""
    found = list[tuple[str, list[ClassRow]]]()
    for kind, names in (shown and shown.audience or {}).items():
        total = sum(names.values())
        rows = [
            ClassRow(words.class_of(kind, name), n, words.share(n, total))
            for name, n in told(names)[:SHOWN_CLASSES]
        ]
        # Of countries, nothing is known without a table.
        if any(name for name in names):
            found.append((kind, rows))
    return found


def _days_of(shown: History | None, asked: Asked, span: Span) -> dict[str, object]:
    if shown is None or shown.report is None:
        return {"period": None, "is_history": shown is not None, "notes": [], "today": ""}
    words, has_visitors = asked.words, asked.site.statistics.reports.keeps_visitors
    notes = {day: visible(text) for day, text in (shown.notes or {}).items()}
    rows = rows_of(shown.report, shown.before, words, span.unit, notes)
    return {
        "is_history": True,
        "period": period_of(
            span.name(words), shown.report, shown.before, words, has_visitors=has_visitors
        ),
        "chart": chart_of(rows, words, has_visitors=has_visitors),
        "rows": rows[::-1],
        "notes": [(date_of(day), words.day(date_of(day)), text) for day, text in notes.items()],
        "today": date_of(asked.site.statistics.reports.today()).isoformat(),
    }


def _hours_of(
    shown: History | None, asked: Asked, span: Span, *, is_page: bool
) -> dict[str, object]:
    """The hours of the chosen days as bars, and each with its views for the table, newest first;
    of many days, the hours of the day."""
    nothing: dict[str, object]
    nothing = {"hour_chart": None, "hour_rows": [], "is_page": is_page, "by_hour_of_day": False}
    if shown is None or shown.hours is None:
        return nothing
    words = asked.words
    by_hour_of_day = not is_page and span.days > MAX_DAYS_BY_HOUR
    hours = (
        _hours_of_day(shown.hours)
        if by_hour_of_day
        else _each_hour(asked, shown.hours, span, is_page=is_page)
    )
    if not hours:
        return nothing
    name_of = words.clock if by_hour_of_day else words.moment
    rows = [(name_of(at), views) for at, views in hours]
    heights = [Bar(f"{hour}: {words.say('viewsOf', views)}", (views,)) for hour, views in rows]
    name = words.say(
        "chartOf", sum(views for _, views in hours), first=rows[0][0], last=rows[-1][0]
    )
    starts = [at for at, _ in hours]
    mark = words.clock if by_hour_of_day else words.hour
    marks = [mark(at) for at in dict.fromkeys((*starts[::MARKED_HOURS], starts[-1]))]
    top = words.number(max(views for _, views in hours))
    return {
        **nothing,
        "hour_chart": Chart(bars(heights, name), marks, top),
        "hour_rows": rows if by_hour_of_day else rows[::-1],
        "by_hour_of_day": by_hour_of_day,
    }


def _hours_of_day(views: Mapping[int, int]) -> Sequence[tuple[datetime, int]]:
    total = Counter[int]()
    for hour, number in views.items():
        total[hour % 100] += number
    return [(datetime(2000, 1, 1, hour), total[hour]) for hour in range(24)]


def _each_hour(
    asked: Asked, views: Mapping[int, int], span: Span, *, is_page: bool
) -> Sequence[tuple[datetime, int]]:
    """The hours of the last of these days, up to the current one: one that comes twice is one. Of a
    page those that are stored, which may be none."""
    hour = asked.site.statistics.reports.hour()
    now = datetime.combine(date_of(hour.day), time(hour.hour))
    first, last = (datetime.combine(day, time()) for day in span.dates)
    end, before = min(now, last + timedelta(hours=23)), timedelta(hours=KEPT_HOURS - 1)
    first = max(first, end - before, now - before if is_page else first)
    starts = [first + timedelta(hours=hours) for hours in range(KEPT_HOURS)]
    numbered = [(100 * day_number(at) + at.hour, at) for at in starts if at <= end]
    return [(at, views.get(number, 0)) for number, at in numbered]

"""/ui/statistics: the days and hours of one page, or of the site, beside those before."""

import asyncio
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from ..http.params import MAX_PATH
from ..markup import visible
from ..render.charts import Bar, bars
from ..render.page_address import page_address
from ..statistics.calendar import KEPT_HOURS, date_of, day_number
from .day_table import Chart, chart_of, kept_of, period_of, rows_of, sources_of
from .overview import History, history
from .pages import Asked

DAYS = (7, 30, 90, 365, 730)
DEFAULT_DAYS = 30
FIRST_YEAR = 2000
# Between two marks below the hours.
MARKED_HOURS = 24
# Of the hosts from which readers come.
SHOWN_SOURCES = 20


async def show(asked: Asked) -> tuple[str, Mapping[str, object]]:
    path, span = asked.query.get("path", "")[:MAX_PATH] or None, _span(asked)
    is_on = asked.site.statistics.reports.is_on
    shown = await history(asked.site, path, span.days, span.last) if is_on else None
    # In a thread: two years are a thousand words.
    return "statistics.html", await asyncio.to_thread(_values, shown, asked, path, span)


class Span(NamedTuple):
    """So many days, of which the last is such as 20261123; `is_chosen`: by dates."""

    days: int
    last: int
    is_chosen: bool = False

    @property
    def dates(self) -> tuple[date, date]:
        last = date_of(self.last)
        return last - timedelta(days=self.days - 1), last


def _values(shown: History | None, asked: Asked, path: str | None, span: Span) -> dict[str, object]:
    statistics = asked.site.statistics.reports
    return {
        "path": path or "",
        "name": visible(path or ""),
        "address": page_address(path, asked.site_url) if path and asked.site_url else "",
        "days": 0 if span.is_chosen else span.days,
        "span": _name_of(span, asked),
        "dates": [day.isoformat() for day in span.dates] if span.is_chosen else ["", ""],
        "choices": [(day, asked.link("statistics", **_chosen(path, day))) for day in DAYS],
        "is_on": statistics.is_on,
        "kept": kept_of(shown.report if shown else None, statistics),
        "count": shown.count if shown else None,
        "sources": sources_of(shown.sources if shown else None, SHOWN_SOURCES),
        **_days_of(shown, asked, span),
        **_hours_of(shown, asked),
    }


def _span(asked: Asked) -> Span:
    """From one date to another, if both are given, or this many days up to today."""
    today = asked.site.statistics.reports.today()
    try:
        first, last = (date.fromisoformat(asked.query.get(name, "")) for name in ("from", "to"))
        last = min(last, date_of(today))
        if first.year >= FIRST_YEAR and 0 <= (last - first).days < DAYS[-1]:
            return Span((last - first).days + 1, day_number(last), is_chosen=True)
    except ValueError:
        pass
    wanted = asked.query.get("days", "")
    days = next((days for days in DAYS if str(days) == wanted), DEFAULT_DAYS)
    return Span(days, today)


def _name_of(span: Span, asked: Asked) -> str:
    if span.is_chosen:
        return " – ".join(map(asked.words.day, span.dates))
    return asked.words.say("lastDays", span.days)


def _chosen(path: str | None, days: int) -> dict[str, str]:
    return {"path": path, "days": str(days)} if path else {"days": str(days)}


def _days_of(shown: History | None, asked: Asked, span: Span) -> dict[str, object]:
    if shown is None or shown.report is None:
        return {"period": None}
    words, has_visitors = asked.words, asked.site.statistics.reports.keeps_visitors
    days, report = span.days, shown.report
    rows = rows_of(report, days, words)
    return {
        "period": period_of(report, days, words, has_visitors=has_visitors, is_over=span.is_chosen),
        "chart": chart_of(rows, words, has_visitors=has_visitors),
        "rows": rows[::-1],
    }


def _hours_of(shown: History | None, asked: Asked) -> dict[str, object]:
    """The last hours as bars, and each with its views for the table, newest first."""
    if shown is None or shown.hours is None:
        return {"hour_chart": None, "hour_rows": []}
    words = asked.words
    hours = _last_hours(asked)
    rows = [(words.moment(at), shown.hours.get(number, 0)) for number, at in hours]
    heights = [Bar(f"{hour}: {words.say('viewsOf', views)}", (views,)) for hour, views in rows]
    name = words.say("hoursOf", sum(views for _, views in rows), hours=KEPT_HOURS)
    marks = [words.hour(at) for _, at in (*hours[::MARKED_HOURS], hours[-1])]
    top = words.number(max(views for _, views in rows))
    return {"hour_chart": Chart(bars(heights, name), marks, top), "hour_rows": rows[::-1]}


def _last_hours(asked: Asked) -> list[tuple[int, datetime]]:
    """The last hours of the site's clock, the current one last: an hour that comes twice is one."""
    hour = asked.site.statistics.reports.hour()
    now = datetime.combine(date_of(hour.day), time(hour.hour))
    starts = [now - timedelta(hours=hours) for hours in range(KEPT_HOURS - 1, -1, -1)]
    return [(100 * day_number(start) + start.hour, start) for start in starts]

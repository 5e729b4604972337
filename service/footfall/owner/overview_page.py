"""/ui/: the overview for owners."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import orjson

from ..counters import DEMO_PAGE
from ..http.page_words import PageWords
from ..markup import shortened, visible
from ..model import PUBLIC
from ..render.charts import spark_line
from ..render.page_address import page_address
from ..render.view import View
from ..statistics.agents import CLASSES
from ..statistics.live_views import LivePage
from ..statistics.reports import Report
from . import periods
from .day_table import (
    Period,
    SourceRow,
    chart_of,
    kept_of,
    last_days,
    period_of,
    rows_of,
    shown,
    sources_of,
)
from .overview import (
    LINE_DAYS,
    PERIOD_DAYS,
    RANKED_DAYS,
    RANKED_PAGES,
    NewestComments,
    Overview,
    RankedPage,
    overview,
    readable,
)
from .page_table import table_of, titles_of
from .pages import Asked
from .periods import Span

PERIODS = (1, RANKED_DAYS, PERIOD_DAYS)
MAX_EXCERPT_CHARACTERS = 200
SHOWN_SOURCES = SHOWN_LIVE = 5
MAX_REASON_CHARACTERS = 300


class RankedRow(NamedTuple):
    """A page in a list; `address` is "" where its own page has none, and it `is_exact` if no other
    page can stand in its place."""

    name: str
    address: str
    views: int
    line: str
    is_exact: bool


class BotRow(NamedTuple):
    """A class of bots and its description; `is_known` ones can be counted as people."""

    id: str
    name: str
    why: str
    views: int
    is_people: bool
    is_known: bool


class CommentRow(NamedTuple):
    """The start of a comment; `address` leads to it on its page, "" without SITE_URL, and `reply`
    to the form for a reply in the queue."""

    nick: str
    time: str
    excerpt: str
    page: str
    address: str
    reply: str


async def show(asked: Asked) -> tuple[str, Mapping[str, object]]:
    facts = await overview(asked.site)
    titles = await titles_of(asked, facts.pages)
    # In a thread, since the first page loads Babel for a tenth of a second.
    return "overview.html", await asyncio.to_thread(_values, facts, titles, asked)


def _values(facts: Overview, titles: Mapping[str, str], asked: Asked) -> dict[str, object]:
    return {
        **_traffic(facts, asked),
        "table": table_of(facts.pages, titles, asked, _week(asked), "", most=RANKED_PAGES)
        if facts.pages
        else None,
        "rising": _ranked(facts.rising, asked),
        "live": _live(facts.live, titles, asked),
        "ranked_days": RANKED_DAYS,
        "sources": _sources(facts, asked),
        "snippet": _snippet(facts, asked),
        "by_programs": facts.report.views if facts.report else 0,
        "held": facts.held,
        "newest": _comments(facts.newest, asked),
        "failed": _failed(facts, asked.words),
        "warnings": asked.site.warnings,
    }


async def show_live(asked: Asked) -> tuple[str, Mapping[str, object]]:
    """The part of the page that changes while it is looked at."""
    statistics = asked.site.statistics
    pages = await readable(statistics.live.pages()) if statistics.reports.is_on else []
    titles = await readable(statistics.titles.of(page.path for page in (pages or ())[:SHOWN_LIVE]))
    return "live.html", {"live": _live(pages, titles or {}, asked)}


def _live(
    pages: Sequence[LivePage] | None, titles: Mapping[str, str], asked: Asked
) -> tuple[int, list[tuple[str, str, str, int]]] | None:
    """All views of the last minutes; and the pages with most of them by name, title, address and
    views."""
    if pages is None:
        return None
    rows = [
        (
            shown(page.path),
            shown(titles.get(page.path, "")),
            asked.link_to_page(page.path),
            page.views,
        )
        for page in pages[:SHOWN_LIVE]
    ]
    return sum(page.views for page in pages), rows


def _sources(facts: Overview, asked: Asked) -> list[SourceRow]:
    week = last_days(facts.report, RANKED_DAYS) if facts.report else None
    return sources_of(
        facts.sources,
        week,
        asked.words,
        SHOWN_SOURCES,
        lambda host: asked.link("source", host=host, days=str(RANKED_DAYS)),
    )


def _snippet(facts: Overview, asked: Asked) -> str:
    """The line that counts views, for a site that has not had any by people; else ""."""
    report, held = facts.report, facts.held
    is_new = report is not None and not report.people
    if not is_new or (held and held.waiting) or (facts.newest and facts.newest.comments):
        return ""
    return f'<script async src="{asked.server_url}/count.js"></script>'


def _traffic(facts: Overview, asked: Asked) -> dict[str, object]:
    """The whole site's views: empty if none are stored."""
    statistics, words, report = asked.site.statistics.reports, asked.words, facts.report
    kept = kept_of(report, statistics)
    values = {"is_on": statistics.is_on, "kept": kept, "days": PERIOD_DAYS}
    if report is None:
        return {**values, "is_read": False}
    now, before = last_days(report, PERIOD_DAYS), last_days(report, PERIOD_DAYS, skip=PERIOD_DAYS)
    rows = rows_of(now, before, words)
    return {
        **values,
        "is_read": True,
        "periods": [_period(report, days, words, kept.visitors) for days in PERIODS],
        "chart": chart_of(rows, words, has_visitors=kept.visitors),
        "rows": rows[::-1],
        "bots": _bots(report, words),
    }


def _period(report: Report, days: int, words: PageWords, has_visitors: bool) -> Period:
    name = words.say("lastDays", days) if days > 1 else words.say("today")
    now, before = last_days(report, days), last_days(report, days, skip=days)
    return period_of(name, now, before, words, has_visitors=has_visitors, is_today=days == 1)


def _week(asked: Asked) -> Span:
    return periods.last_days(RANKED_DAYS, asked.site.statistics.reports.today())


def _ranked(pages: Sequence[RankedPage] | None, asked: Asked) -> list[RankedRow] | None:
    if pages is None:
        return None
    return [
        RankedRow(
            shown(page.path),
            asked.link_to_page(page.path),
            page.read,
            spark_line(days, _in_words(days, asked.words)),
            page.is_exact,
        )
        for page, days in pages
    ]


def _in_words(days: Sequence[int], words: PageWords) -> str:
    """For screen readers."""
    return words.say("lineOf", LINE_DAYS, numbers=" · ".join(map(words.number, days)))


def _bots(report: Report, words: PageWords) -> list[BotRow]:
    """Classes that were met in the last days, and those that count as people."""
    classes = last_days(report, PERIOD_DAYS).bots
    views = {name: number for name, number in classes.items() if number > 0}
    names = sorted({*views, *report.as_people}, key=lambda name: (-views.get(name, 0), name))
    return [_bot(name, views.get(name, 0), report, words) for name in names[: 2 * len(CLASSES)]]


def _bot(id: str, views: int, report: Report, words: PageWords) -> BotRow:
    # A later version may know others.
    is_known = id in CLASSES
    name = words.say(f"bot.{id}") if is_known else shown(id)
    why = words.say(f"why.{id}") if is_known else ""
    return BotRow(id, name, why, views, id in report.as_people, is_known)


def _comments(newest: NewestComments | None, asked: Asked) -> list[CommentRow] | None:
    if newest is None:
        return None
    view = View(PUBLIC, asked.site.comments.display)
    bodies = (orjson.loads(json) for json in view.elsewhere(newest.comments, newest.live))
    return [_comment(comment, asked) for comment in bodies]


def _comment(comment: Mapping[str, str], asked: Asked) -> CommentRow:
    words = asked.words
    text = " ".join(comment["orig"][: 4 * MAX_EXCERPT_CHARACTERS].split())
    if len(text) > MAX_EXCERPT_CHARACTERS:
        text = text[: MAX_EXCERPT_CHARACTERS - 1] + "…"
    home, id, is_demo = asked.site_url, comment["objectId"], comment["url"] == DEMO_PAGE
    return CommentRow(
        visible(shortened(comment["nick"] or words.say("anonymous"), 100)),
        words.time(int(comment["time"])),
        visible(text),
        words.say("fromDemo") if is_demo else shown(comment["url"]),
        f"{page_address(comment['url'], home)}#{id}" if home and not is_demo else "",
        asked.link("queue", status="approved", reply=id),
    )


def _failed(facts: Overview, words: PageWords) -> dict[str, object] | None:
    if facts.failed is None:
        return None
    newest = [
        (event.task.kind, words.time(event.at), visible(event.error[:MAX_REASON_CHARACTERS]))
        for event in facts.failed.newest
    ]
    return {"number": facts.failed.number, "newest": newest}

"""GoatCounter's export since 2026: tables of JSON lines in a zip, with the views of each page, hour
and referrer added up. Visitors are not among them, and bots are left out there already.
"""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import NamedTuple

from ..statistics.agents import PEOPLE
from ..statistics.calendar import LEAST_MS, MOST_MS
from .goatcounter import EVENT, NO_DATE, excluded, page_of, source_named
from .json_rows import Record, objects
from .page_views import ViewReport
from .past_log import NumberedView, PastLog, PastView
from .rows import Refusal
from .source import Damaged, Source
from .values import moment, text, truth, whole

_PATHS, _REFS, _TOTALS = "paths.jsonl", "refs.jsonl", "hit_stats.jsonl"
# More views of a page in an hour are a mistake, and would keep the import busy.
MAX_VIEWS = 10_000_000
NO_COUNT = f"has no number of views up to {MAX_VIEWS:,}"
NO_ROW = "is not a row, or of a page that is not in the export"


class _Page(NamedTuple):
    path: str
    is_event: bool


def is_of_totals(sources: Sequence[Source]) -> bool:
    return any(source.name.endswith(_TOTALS) for source in sources)


def totals_log(
    sources: Sequence[Source], own: frozenset[str], report: ViewReport
) -> Iterator[PastLog]:
    """The export as one log, in the order of time. Raises Damaged, OSError."""
    tables = {name: _table(sources, name) for name in (_PATHS, _REFS, _TOTALS)}
    pages = {whole(row.get("id")): _page(row) for _, row in _rows(tables[_PATHS])}
    named = {whole(row.get("id")): _source(row, own) for _, row in _rows(tables[_REFS])}
    with closing(sqlite3.connect("")) as db:
        db.execute("CREATE TABLE totals (at INTEGER, page INTEGER, ref INTEGER, count INTEGER)")
        _read(db, tables[_TOTALS], pages.keys(), report)
        yield PastLog("", partial(_views, db, pages, named, report))


def _page(row: Record) -> _Page:
    written, is_event = text(row.get("path")) or "", truth(row.get("event")) is True
    return _Page(written if is_event else page_of(written), is_event)


def _source(row: Record, own: frozenset[str]) -> str:
    return source_named(text(row.get("ref")) or "", text(row.get("ref_scheme")) or "", own)


def _table(sources: Sequence[Source], name: str) -> Source:
    file = next((source for source in sources if source.name.endswith(name)), None)
    if file is None:
        raise Damaged(f"it has no {name}, which GoatCounter's export has")
    return file


def _rows(source: Source) -> Iterator[tuple[str, Record]]:
    """Lines of JSON with their places; one that is not an object has no field."""
    for row in objects(source):
        yield (row.where, {}) if isinstance(row, Refusal) else row


def _read(
    db: sqlite3.Connection, source: Source, pages: Collection[object], report: ViewReport
) -> None:
    for where, row in _rows(source):
        at, count, page = moment(row.get("hour")), whole(row.get("count")), row.get("path_id")
        why = ""
        if not isinstance(page, int) or page not in pages:
            why = NO_ROW
        elif at is None or not LEAST_MS <= at < MOST_MS:
            why = NO_DATE
        elif count is None or not 0 <= count <= MAX_VIEWS:
            why = NO_COUNT
        if why:
            report.refuse(why, f"{source.name}, {where}")
        else:
            values = at, page, whole(row.get("ref_id")), count
            db.execute("INSERT INTO totals VALUES (?, ?, ?, ?)", values)


def _views(
    db: sqlite3.Connection,
    pages: dict[int | None, _Page],
    named: dict[int | None, str],
    report: ViewReport,
) -> Iterator[NumberedView]:
    replies = db.execute("SELECT at, page, ref, count FROM totals ORDER BY at, page, ref")
    for number, (at, id, ref, count) in enumerate(replies, 1):
        page = pages[id]
        why = EVENT if page.is_event else excluded(page.path)
        view = PastView(at, page.path, None, PEOPLE, named.get(ref, ""))
        for _ in range(count):
            report.note(why, page.path)
            if not why:
                yield number, view

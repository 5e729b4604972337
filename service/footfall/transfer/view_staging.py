"""Views of the past on disk, between reading and storing: a log may be larger than memory.

They are summed by segments, so many lines of a file each, whatever is read of the file besides. So
the steps in which they are stored are the same when an import is repeated, or the file has grown.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from ..statistics.agents import PEOPLE
from ..statistics.calendar import LocalHour
from ..statistics.moments import hour_number
from ..statistics.past_store import How, PageChange, SiteChange
from ..statistics.site_store import MAX_LISTED
from .past_log import PastView

SEGMENT_LINES = 20_000
# Pages whose numbers are remembered.
MAX_CACHED_PAGES = 4_096
# In place of a page, for visitors of the site.
_SITE = 0
# Rows that are read together.
_STEP_ROWS = 1_000

_TABLES = """
CREATE TABLE pages (
    file INTEGER, segment INTEGER, grp INTEGER, path TEXT, page INTEGER, day INTEGER, agent TEXT,
    is_new INTEGER, views INTEGER, line INTEGER
);
CREATE TABLE sums (
    file INTEGER, segment INTEGER, how TEXT, day INTEGER, field TEXT, views INTEGER, line INTEGER
);
CREATE TABLE visitors (day INTEGER, page INTEGER, visitor INTEGER, PRIMARY KEY (day, page, visitor))
WITHOUT ROWID;
CREATE TABLE ends (
    day INTEGER, page INTEGER, file INTEGER, segment INTEGER, PRIMARY KEY (day, page)
) WITHOUT ROWID;
CREATE TABLE people (day INTEGER, page INTEGER, number INTEGER, PRIMARY KEY (day, page))
WITHOUT ROWID;
"""
_COUNT_PEOPLE = """
INSERT INTO people SELECT day, page, count(*) FROM visitors GROUP BY day, page
"""
# Visitors of a day come with its last views, so that there are never more than could have viewed.
_PAGES = """
SELECT pages.file, pages.segment, grp, line, path, day, agent, views,
    CASE WHEN (ends.file, ends.segment) = (pages.file, pages.segment)
    THEN coalesce(number, 0) ELSE 0 END
FROM pages JOIN ends USING (day, page) LEFT JOIN people USING (day, page) WHERE is_new
ORDER BY pages.file, pages.segment, grp, path, day
"""
_SUMS = """
SELECT sums.file, sums.segment, line, sums.day, how, field, views,
    CASE WHEN (ends.file, ends.segment) = (sums.file, sums.segment)
    THEN coalesce(number, 0) ELSE 0 END
FROM sums JOIN ends ON ends.day = sums.day AND ends.page = 0
    LEFT JOIN people ON people.day = sums.day AND people.page = 0
ORDER BY sums.file, sums.segment, sums.day
"""
_MOST_READ = """
SELECT path FROM pages WHERE day = ? GROUP BY path ORDER BY sum(views) DESC, path LIMIT ?
"""
_MOST_READ_EVER = """
SELECT path FROM pages GROUP BY path ORDER BY sum(views) DESC, path LIMIT ?
"""

# A file's number, a segment's, and for pages a group's; then the line up to which it goes.
Row = tuple[Any, ...]


class Step(NamedTuple):
    """What is stored together: of this file, a number, up to this line."""

    file: int
    line: int


class ViewStaging:
    def __init__(self) -> None:
        # SQLite deletes a database without a name at its end, and keeps it in TMPDIR once it is
        # large.
        self._db = sqlite3.connect("", isolation_level=None)
        for pragma in (
            "journal_mode = OFF",
            "synchronous = OFF",
            "cache_size = -64000",
            "temp_store = FILE",
        ):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.executescript(_TABLES)
        self._db.execute("BEGIN")
        self._segment = _Segment()

    def close(self) -> None:
        self._db.close()

    # Adding.

    def begin(self, file: int, number: int) -> None:
        """What is added next is of this line of a file, which is a number, too."""
        at = file, number // SEGMENT_LINES
        if at != self._segment.at:
            self._flush()
            self._segment = _Segment(at)
        self._segment.number = number

    def add_to_page(self, view: PastView, day: int, group: int, *, is_new: bool) -> None:
        """`is_new` unless its page has it already."""
        self._segment.add_to_page(view, day, group, is_new=is_new)

    def add_to_site(self, view: PastView, hour: LocalHour) -> None:
        self._segment.add_to_site(view, hour)

    def end(self) -> None:
        """After the last line."""
        self._flush()
        self._db.execute(_COUNT_PEOPLE)

    def _flush(self) -> None:
        found = self._segment
        self._insert("pages", 10, found.page_rows())
        self._insert("sums", 7, found.sum_rows())
        self._insert("visitors", 3, found.visitors)
        self._insert("ends", 4, found.end_rows())

    def _insert(self, table: str, width: int, rows: Iterable[Row]) -> None:
        marks = ", ".join("?" * width)
        # One of the tables above.
        insert = f"INSERT OR REPLACE INTO {table} VALUES ({marks})"  # noqa: S608
        self._db.executemany(insert, rows)

    # Reading.

    def page_steps(self) -> Iterator[list[tuple[Step, list[PageChange]]]]:
        """The steps of each segment, one for each group of pages."""
        found = _rows(self._db.execute(_PAGES))
        for _, segment in groupby(found, itemgetter(0, 1)):
            groups = groupby(segment, itemgetter(2))
            yield [_page_step(list(rows)) for _, rows in groups]

    def site_steps(self) -> Iterator[tuple[Step, list[SiteChange]]]:
        """One for each segment."""
        for _, rows in groupby(_rows(self._db.execute(_SUMS)), itemgetter(0, 1)):
            yield _site_step(list(rows))

    def new_paths(self) -> Iterator[str]:
        """The pages with views that they did not have."""
        found = self._db.execute("SELECT DISTINCT path FROM pages WHERE is_new ORDER BY path")
        return (path for (path,) in _rows(found))

    def most_read(self, day: int) -> list[str]:
        """The pages most viewed on a day, by all views that were read."""
        return [path for (path,) in self._db.execute(_MOST_READ, (day, MAX_LISTED))]

    def most_read_ever(self) -> list[str]:
        """The same of all days."""
        return [path for (path,) in self._db.execute(_MOST_READ_EVER, (MAX_LISTED,))]

    def number_of_pages(self) -> int:
        return int(self._db.execute("SELECT count(DISTINCT path) FROM pages").fetchone()[0])


class _Segment:
    """At most SEGMENT_LINES views, in memory."""

    def __init__(self, at: tuple[int, int] = (0, 0)) -> None:
        self.at = at
        # Of the line that is read.
        self.number = 0
        self.visitors = set[tuple[int, int, int]]()
        self._pages = Counter[tuple[int, str, int, str, bool]]()
        self._sums = Counter[tuple[How, int, str]]()
        # The last line that is new to each group of pages, and to the site.
        self._lines: dict[int, int] = {}
        self._site_line = 0

    def add_to_page(self, view: PastView, day: int, group: int, *, is_new: bool) -> None:
        self._pages[group, view.path, day, view.agent, is_new] += 1
        if is_new:
            self._lines[group] = self.number
        if view.visitor is not None:
            self.visitors.add((day, _page(view.path), view.visitor))
            self.visitors.add((day, _SITE, view.visitor))

    def add_to_site(self, view: PastView, hour: LocalHour) -> None:
        day = hour.day
        self._sums["add", day, str(hour_number(hour))] += 1
        if view.agent != PEOPLE:
            self._sums["add", day, f"b{day} {view.agent}"] += 1
        elif view.host:
            self._sums["source", day, view.host] += 1
        self._site_line = self.number

    def page_rows(self) -> Iterator[Row]:
        for (group, path, day, agent, is_new), views in self._pages.items():
            line = self._lines.get(group, 0)
            yield *self.at, group, path, _page(path), day, agent, is_new, views, line

    def sum_rows(self) -> Iterator[Row]:
        for (how, day, field), views in self._sums.items():
            yield *self.at, how, day, field, views, self._site_line

    def end_rows(self) -> Iterator[Row]:
        """Of each page, and of the site, the days that have new views here."""
        pages = {(day, _page(path)) for _, path, day, _, is_new in self._pages if is_new}
        for day, page in pages | {(day, _SITE) for _, day, _ in self._sums}:
            yield day, page, *self.at


@lru_cache(maxsize=MAX_CACHED_PAGES)
def _page(path: str) -> int:
    """A number for a page: who finds two pages with the same only joins their visitors."""
    return int.from_bytes(blake2b(path.encode(), digest_size=8).digest(), signed=True)


def _rows(cursor: sqlite3.Cursor) -> Iterator[Row]:
    while part := cursor.fetchmany(_STEP_ROWS):
        yield from part


def _page_step(rows: list[Row]) -> tuple[Step, list[PageChange]]:
    """`rows` are those of _PAGES."""
    days = groupby(rows, itemgetter(4, 5))
    changes = [_page_change(list(found)) for _, found in days]
    return Step(rows[0][0], rows[0][3]), changes


def _page_change(rows: list[Row]) -> PageChange:
    """Of one page and day."""
    by_agent = {row[6]: row[7] for row in rows}
    bots = {agent: views for agent, views in by_agent.items() if agent != PEOPLE}
    path, day, visitors = itemgetter(4, 5, 8)(rows[0])
    return PageChange(path, day, sum(by_agent.values()), visitors, bots)


def _site_step(rows: list[Row]) -> tuple[Step, list[SiteChange]]:
    """`rows` are those of _SUMS."""
    changes = [SiteChange(how, day, field, views) for *_, day, how, field, views, _people in rows]
    people = {row[3]: row[7] for row in rows if row[7]}
    changes += [SiteChange("most", day, f"v{day}", number) for day, number in people.items()]
    return Step(rows[0][0], rows[0][2]), changes

"""Views of the past on disk, between reading and storing: a log may be larger than memory."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from typing import Any

from ..ids import digest
from ..statistics.agents import PEOPLE
from ..statistics.calendar import LocalHour
from ..statistics.moments import hour_number
from ..statistics.past_store import PageChange, SiteChange
from ..statistics.referrals import host_of, name_of
from ..statistics.site_store import MAX_LISTED
from .past_log import PastView

# Sums held in memory before they are written.
MAX_HELD = 20_000
# Pages whose numbers are cached.
MAX_CACHED_PAGES = 4_096
# In place of a page, for visitors of the site.
_SITE = 0

_TABLES = """
CREATE TABLE pages (
    day INTEGER, path TEXT, agent TEXT, views INTEGER, PRIMARY KEY (day, path, agent)
) WITHOUT ROWID;
CREATE TABLE sums (
    day INTEGER, how TEXT, field TEXT, views INTEGER, PRIMARY KEY (day, how, field)
) WITHOUT ROWID;
CREATE TABLE visitors (day INTEGER, page INTEGER, visitor INTEGER, PRIMARY KEY (day, page, visitor))
WITHOUT ROWID;
"""
_ADD_PAGES = "INSERT INTO pages VALUES (?, ?, ?, ?)"
_ADD_SUMS = "INSERT INTO sums VALUES (?, ?, ?, ?)"
_OR_RAISE = " ON CONFLICT DO UPDATE SET views = views + excluded.views"
_PEOPLE = "SELECT page, count(*) FROM visitors WHERE day = ? GROUP BY page"
_PAGES = "SELECT path, agent, views FROM pages WHERE day = ? ORDER BY path, agent"
_SUMS = "SELECT how, field, views FROM sums WHERE day = ? ORDER BY how, field"
_AGENTS = "SELECT agent, sum(views) FROM pages WHERE day = ? GROUP BY agent"
_MOST_READ = "SELECT path FROM pages WHERE day = ? GROUP BY path ORDER BY sum(views) DESC, path"
_MOST_READ_EVER = "SELECT path FROM pages GROUP BY path ORDER BY sum(views) DESC, path"


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
        self._pages = Counter[tuple[int, str, str]]()
        self._sums = Counter[tuple[int, str, str]]()
        self._visitors = set[tuple[int, int, int]]()

    def close(self) -> None:
        self._db.close()

    def add(self, view: PastView, hour: LocalHour) -> None:
        day = hour.day
        self._pages[day, view.path, view.agent] += 1
        self._sums[day, "add", str(hour_number(hour))] += 1
        if view.agent != PEOPLE:
            self._sums[day, "add", f"b{day} {view.agent}"] += 1
        elif view.source:
            self._sums[day, "source", host_of(view.source)] += 1
            self._sums[day, "referral", name_of(view.source, view.path)] += 1
        if view.visitor is not None:
            self._visitors.add((day, _page(view.path), view.visitor))
            self._visitors.add((day, _SITE, view.visitor))
        if len(self._pages) + len(self._sums) + len(self._visitors) > MAX_HELD:
            self.flush()

    def flush(self) -> None:
        """Before anything is read."""
        add = self._db.executemany
        add(_ADD_PAGES + _OR_RAISE, [(*key, views) for key, views in self._pages.items()])
        add(_ADD_SUMS + _OR_RAISE, [(*key, views) for key, views in self._sums.items()])
        add("INSERT OR IGNORE INTO visitors VALUES (?, ?, ?)", self._visitors)
        self._pages.clear()
        self._sums.clear()
        self._visitors.clear()

    def days(self) -> list[int]:
        return [day for (day,) in self._db.execute("SELECT DISTINCT day FROM pages ORDER BY day")]

    def agents(self, day: int) -> Counter[str]:
        """The views of a day by class of user agent."""
        return Counter(dict(self._db.execute(_AGENTS, (day,))))

    def digest(self, day: int) -> str:
        """A digest, which is the same for the same views of a day in whichever order they were
        read."""
        hashed = blake2b(digest_size=16)
        for statement in (_PAGES, _SUMS):
            for row in self._db.execute(statement, (day,)):
                hashed.update(repr(row).encode())
        return digest(str(day), hashed.hexdigest())

    def page_changes(self, day: int) -> list[PageChange]:
        """In the order of their paths."""
        people = self._people(day)
        by_path = groupby(self._db.execute(_PAGES, (day,)), itemgetter(0))
        return [_page_change(path, day, list(rows), people) for path, rows in by_path]

    def site_changes(self, day: int) -> list[SiteChange]:
        # Of too many sources, those with fewest views have no place.
        rows = sorted(self._db.execute(_SUMS, (day,)), key=lambda row: -row[2])
        changes = [SiteChange(how, day, field, views) for how, field, views in rows]
        if visitors := self._people(day).get(_SITE):
            changes.append(SiteChange("most", day, f"v{day}", visitors))
        return changes

    def _people(self, day: int) -> dict[int, int]:
        return dict(self._db.execute(_PEOPLE, (day,)))

    def paths(self) -> Iterator[str]:
        for (path,) in self._db.execute("SELECT DISTINCT path FROM pages ORDER BY path"):
            yield path

    def most_read(self, day: int) -> list[str]:
        """The pages most viewed on a day."""
        return self._first(_MOST_READ, day)

    def most_read_ever(self) -> list[str]:
        """The most read pages of all days."""
        return self._first(_MOST_READ_EVER)

    def _first(self, statement: str, *values: int) -> list[str]:
        rows = self._db.execute(f"{statement} LIMIT {MAX_LISTED}", values)
        return [path for (path,) in rows]

    def number_of_pages(self) -> int:
        return int(self._db.execute("SELECT count(DISTINCT path) FROM pages").fetchone()[0])


@lru_cache(maxsize=MAX_CACHED_PAGES)
def _page(path: str) -> int:
    """A number for a page: two pages with the same one would only join their visitors."""
    return int.from_bytes(blake2b(path.encode(), digest_size=8).digest(), signed=True)


def _page_change(path: str, day: int, rows: list[Any], people: dict[int, int]) -> PageChange:
    """`rows` are those of _PAGES of one path."""
    views = sum(number for _, _, number in rows)
    bots = {agent: number for _, agent, number in rows if agent != PEOPLE}
    return PageChange(path, day, views, people.get(_page(path), 0), bots)

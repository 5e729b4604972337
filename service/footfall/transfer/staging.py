"""Rows on disk between reading and storing, so that their order and their number do not matter.

Threads are joined here: a reply may precede its parent. The database is a file that disappears with
the process; nothing in it needs to survive, since a repeated import finds stored rows.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Literal

import orjson

from ..counters import MAX_COUNT
from ..data.imports import Way
from .report import ImportReport
from .rows import AccountRow, CommentRow, Kind

_TABLES = """
CREATE TABLE comments (
    source TEXT PRIMARY KEY, path TEXT, address TEXT, at INTEGER, parent TEXT, other TEXT,
    gone INTEGER, account TEXT, row BLOB, id TEXT UNIQUE, anchor TEXT, root TEXT
) WITHOUT ROWID;
CREATE INDEX children ON comments (parent);
CREATE INDEX lost ON comments (at) WHERE root IS NULL;
CREATE TABLE accounts (source TEXT PRIMARY KEY, row BLOB, id TEXT) WITHOUT ROWID;
CREATE TABLE counters (place TEXT, name TEXT, address TEXT, count INTEGER);
"""
# Counters of one name are merged when they are read: sorting all at once is faster than keeping
# order. Several rows for one address are the same views for `max`, and additional views otherwise;
# the counts of several addresses of a page are always additional views.
_SUM = f"CAST(min(total(count), {MAX_COUNT}) AS INTEGER)"
_OF_ADDRESSES = """
SELECT place, name, address, {count} AS count, count(*) AS rows
FROM counters GROUP BY place, name, address
"""
# What several addresses, or rows, have become: its name, the number of addresses and two of them,
# and whether one address has several rows.
_JOINED_COUNTERS = """
SELECT name, count(*), min(address), max(address), max(rows) > 1 FROM ({of_addresses})
GROUP BY name HAVING count(*) > 1 OR max(rows) > 1
"""
_JOINED_COMMENTS = """
SELECT path, count(DISTINCT address), min(address), max(address) FROM comments WHERE gone = 0
GROUP BY path HAVING count(DISTINCT address) > 1
"""
_RENAMED: dict[Kind, str] = {
    "comments": "SELECT DISTINCT path, address FROM comments WHERE gone = 0 AND address LIKE '//%'",
    "counters": "SELECT DISTINCT substr(name, instr(name, ' ') + 1), address FROM counters "
    "WHERE address LIKE '//%'",
}
# Replies whose parent is not on their page, and whether the other comment above them is.
_ORPHANS = """
SELECT source, EXISTS (SELECT 1 FROM comments p WHERE p.source = c.other AND p.path = c.path)
FROM comments c WHERE parent <> '' AND NOT EXISTS
    (SELECT 1 FROM comments p WHERE p.source = c.parent AND p.path = c.path)
"""
# The parent that is on the same page, or else the other comment above, or none.
_PARENTS = """
UPDATE comments SET parent = coalesce(
    (SELECT p.source FROM comments p WHERE p.source = comments.parent AND p.path = comments.path),
    (SELECT p.source FROM comments p WHERE p.source = comments.other AND p.path = comments.path),
    '')
WHERE parent <> ''
"""
# Recursive, from some comments down: the nearest comment above each that is not deleted, and its
# root. Below a deleted root, each reply is a root.
_THREADS = """
WITH RECURSIVE t(source, anchor, root) AS (
    SELECT source, '', source FROM comments WHERE {first}
    UNION ALL
    SELECT c.source,
           CASE WHEN p.gone THEN t.anchor ELSE t.source END,
           CASE WHEN p.gone AND t.anchor = '' THEN c.source ELSE t.root END
    FROM t JOIN comments p ON p.source = t.source JOIN comments c ON c.parent = t.source
)
UPDATE comments SET anchor = t.anchor, root = t.root FROM t WHERE comments.source = t.source
"""
_UNNAMED = """
SELECT source, at, path FROM comments WHERE source > ? AND gone = 0 ORDER BY source LIMIT 1000
"""
_READY = """
SELECT c.row, c.id, coalesce(a.id, ''), coalesce(p.id, ''), coalesce(r.id, '')
FROM comments c
LEFT JOIN accounts a ON a.source = c.account
LEFT JOIN comments p ON p.source = c.anchor
LEFT JOIN comments r ON r.source = c.root AND c.anchor <> ''
WHERE c.gone = 0 AND (c.anchor <> '') = ? ORDER BY c.path, c.id
"""


class Staging:
    def __init__(self, way: Way = "max") -> None:
        # SQLite deletes a database without a name at its end, and keeps it in TMPDIR once it is
        # large. One thread at a time uses it, but not always the same one.
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for pragma in (
            "journal_mode = OFF",
            "synchronous = OFF",
            "cache_size = -16000",
            "temp_store = FILE",
        ):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.executescript(_TABLES)
        # One transaction that never ends: a transaction for each row would take longer than all the
        # rest.
        self._db.execute("BEGIN")
        self._of_addresses = _OF_ADDRESSES.format(count="max(count)" if way == "max" else _SUM)
        self._way = way

    def close(self) -> None:
        self._db.close()

    # Adding.

    def add_comment(self, row: CommentRow, address: str) -> bool:
        """`address` is the page's in the file. False if there is one with this id."""
        parent, other, *_ = (*row.parents, "", "")
        done = self._db.execute(
            "INSERT OR IGNORE INTO comments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL)",
            (
                row.source,
                row.path,
                address,
                row.at,
                parent or other,
                other,
                row.status == "deleted",
                row.account,
                orjson.dumps(tuple(row)),
            ),
        )
        return done.rowcount == 1

    def add_account(self, row: AccountRow) -> bool:
        """False if there is one with this id."""
        values = row.source, orjson.dumps(tuple(row))
        done = self._db.execute("INSERT OR IGNORE INTO accounts VALUES (?, ?, NULL)", values)
        return done.rowcount == 1

    def add_counters(self, rows: Iterable[tuple[str, str, str, int]]) -> None:
        """Each is (the hash that holds it, name, the page's address in the file, count)."""
        self._db.executemany("INSERT INTO counters VALUES (?, ?, ?, ?)", rows)

    def number(self, table: Literal["comments", "counters", "accounts"]) -> int:
        # One of three names, since no parameter can be a table.
        count = f"SELECT count(*) FROM {table}"  # noqa: S608
        return int(self._db.execute(count).fetchone()[0])

    # Pages.

    def tell_joined(self, report: ImportReport) -> None:
        """What of several addresses, or rows, is one page's now, and how it was joined."""
        for path, *addresses in self._db.execute(_JOINED_COMMENTS):
            report.join("comments", _with(path, *addresses), "has comments of several addresses")
        joined = _JOINED_COUNTERS.format(of_addresses=self._of_addresses)
        for name, number, first, last, has_rows in self._db.execute(joined):
            if has_rows:
                how = "the largest is taken" if self._way == "max" else "they are added up"
                report.join("counters", name, f"has several counts of one address: {how}")
            if number > 1:
                why = "has counts of several addresses: they are added up"
                report.join("counters", _with(name, number, first, last), why)

    def tell_renamed(self, report: ImportReport) -> None:
        """Pages that had a whole address, and have its path here."""
        for kind, query in _RENAMED.items():
            for path, address in self._db.execute(query):
                report.rename(kind, f"{address} to {path}", "clients have to ask for the path")

    # Threads.

    def put_together(self, report: ImportReport, latest_ms: int) -> None:
        """Find the comment that each one replies to; dates after `latest_ms` become the latest
        other date."""
        self._bound_dates(report, latest_ms)
        for source, has_other in self._db.execute(_ORPHANS):
            becomes = "it replies to its root" if has_other else "now a root"
            why = f"replies to a missing comment: {becomes}"
            report.change("comments", source, why)
        self._db.execute(_PARENTS)
        self._db.execute(_THREADS.format(first="parent = ''"))
        while lost := self._db.execute("SELECT source FROM comments WHERE root IS NULL").fetchone():
            self._break_circle(lost[0], report)
        below = "SELECT source FROM comments WHERE gone = 0 AND parent <> anchor"
        for (source,) in self._db.execute(below):
            why = "replies to a deleted comment: it moves up"
            report.change("comments", source, why)

    def _bound_dates(self, report: ImportReport, latest_ms: int) -> None:
        for (source,) in self._db.execute(
            "SELECT source FROM comments WHERE at > ? AND gone = 0", (latest_ms,)
        ):
            why = "is from the future: it gets the file's last valid date"
            report.change("comments", source, why)
        # The date is the file's and not today's, so that it is the same in each import of this
        # file.
        self._db.execute(
            "UPDATE comments SET at = (SELECT coalesce(max(at), 0) FROM comments WHERE at <= ?1) "
            "WHERE at > ?1",
            (latest_ms,),
        )

    def _break_circle(self, source: str, report: ImportReport) -> None:
        """Make a root of the oldest comment of a circle that is above this one."""
        seen = dict[str, int]()
        while source not in seen:
            query = "SELECT coalesce(at, 0), parent FROM comments WHERE source = ?"
            seen[source], parent = self._db.execute(query, (source,)).fetchone()
            source = parent
        walked = list(seen)
        circle = walked[walked.index(source) :]
        first = min(circle, key=lambda name: (seen[name], name))
        self._db.execute("UPDATE comments SET parent = '' WHERE source = ?", (first,))
        self._db.execute(_THREADS.format(first="source = ?"), (first,))
        report.change("comments", first, "replies to itself through others: now a root")

    # Reading.

    def unnamed(self) -> Iterator[tuple[str, int, str]]:
        """(source, at, path) of each comment, in an order that is always the same."""
        last = ""
        while part := self._db.execute(_UNNAMED, (last,)).fetchall():
            yield from part
            last = part[-1][0]

    def name(self, source: str, id: str) -> bool:
        """Give a comment its id; False if another one has it."""
        set_id = "UPDATE OR IGNORE comments SET id = ? WHERE source = ?"
        return self._db.execute(set_id, (id, source)).rowcount == 1

    def ready(self, size: int) -> Iterator[list[CommentRow]]:
        """All comments in parts of this size: all roots, and then the replies."""
        for is_reply in (0, 1):
            replies = self._db.execute(_READY, (is_reply,))
            while part := replies.fetchmany(size):
                yield [_with_ids(*each) for each in part]

    def accounts(self) -> Iterator[AccountRow]:
        rows = self._db.execute("SELECT row FROM accounts ORDER BY source").fetchall()
        yield from (AccountRow(*orjson.loads(row)) for (row,) in rows)

    def name_account(self, source: str, id: str) -> None:
        self._db.execute("UPDATE accounts SET id = ? WHERE source = ?", (id, source))

    def counters(self) -> Iterator[tuple[str, str, int]]:
        """(hash, name, count), hash by hash."""
        merged = f"SELECT place, name, {_SUM} FROM ({self._of_addresses})"  # noqa: S608
        yield from self._db.execute(f"{merged} GROUP BY place, name ORDER BY place, name")


def _with_ids(row: bytes, id: str, account: str, parent: str, root: str) -> CommentRow:
    stored = CommentRow(*orjson.loads(row))
    return stored._replace(id=id, account_id=account, parent_id=parent, root_id=root)


def _with(page: str, number: int, first: str, last: str) -> str:
    return f"{page} of {number} addresses, such as {first} and {last}"

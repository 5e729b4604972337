"""Writes files of stored data: Waline's archive, a record per line, or a table of one kind.

Records are first sorted on disk, so the same data give the same file.
"""

import csv
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing
from io import StringIO
from itertools import groupby
from typing import Any, BinaryIO

import orjson

from ..model import OnProgress
from .export import TABLES, Export, Record, archive
from .tabular import FORMULAS

_COLUMNS = {
    "Comment": (
        "objectId",
        "url",
        "comment",
        "nick",
        "mail",
        "link",
        "insertedAt",
        "status",
        "like",
        "sticky",
        "pid",
        "rid",
        "user_id",
        "ip",
        "ua",
    ),
    "Users": (
        "objectId",
        "display_name",
        "email",
        "type",
        "label",
        "url",
        "avatar",
        "createdAt",
        "password",
        "2fa",
    ),
}

__all__ = ["TABLES", "Sorted", "write"]


class Sorted:
    """Records by table and key, in a file that disappears with the process."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA cache_size = -16000; PRAGMA temp_store = FILE;"
            "CREATE TABLE records (part TEXT, key TEXT, row BLOB, PRIMARY KEY (part, key))"
            "WITHOUT ROWID; BEGIN"
        )

    def close(self) -> None:
        self._db.close()

    def add(self, table: str, record: Record) -> None:
        """If a comment comes twice, the later record counts."""
        key = record["objectId"]
        if table == "Counter":
            # The record's types are in its key: counters of a long path come in several records.
            key = "\0".join((record["url"], *sorted(record)))
        values = table, key, orjson.dumps(record)
        self._db.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", values)

    def records(self, table: str) -> Iterator[Record]:
        replies = self._db.execute("SELECT row FROM records WHERE part = ? ORDER BY key", (table,))
        records = (orjson.loads(row) for (row,) in replies)
        if table != "Counter":
            yield from records
            return
        for _, same in groupby(records, lambda record: record["url"]):
            merged = {name: value for record in same for name, value in record.items()}
            first = {name: merged.pop(name) for name in ("objectId", "url")}
            yield first | dict(sorted(merged.items()))


async def write(
    export: Export,
    file: BinaryIO,
    form: str,
    tables: Sequence[str],
    *,
    types: Sequence[str],
    now_ms: int,
    on_progress: OnProgress,
) -> dict[str, int]:
    """Write these tables in one of the formats waline, ndjson and csv; returns how many records
    each has. `types` are the columns of counters. Raises StoreUnavailable, OSError."""
    numbers = dict.fromkeys(tables, 0)
    with closing(Sorted()) as ids:
        for number, table in enumerate(tables):
            on_progress("reading what is stored", number / len(tables))
            async for record in export.records(table):
                ids.add(table, record)
        on_progress("writing", 0)

        async def rows(table: str) -> AsyncIterator[bytes]:
            for record in ids.records(table):
                numbers[table] += 1
                yield orjson.dumps(record)

        if form == "waline":
            async for piece in archive(rows, tuple(tables), now_ms):
                file.write(piece)
            file.write(b"\n")
        elif form == "ndjson":
            for table in tables:
                async for row in rows(table):
                    file.write(b'{"table":"%b",%b\n' % (table.encode(), row[1:]))
        else:
            (table,) = tables
            columns = _COLUMNS.get(table, ("url", *types))
            numbers[table] = _write_table(file, ids.records(table), columns)
    return numbers


def _write_table(file: BinaryIO, records: Iterator[Record], columns: Sequence[str]) -> int:
    number, text = 0, StringIO()
    table = csv.writer(text, lineterminator="\r\n")
    table.writerow(columns)
    for record in records:
        number += 1
        table.writerow([_cell(record.get(name, "")) for name in columns])
        file.write(text.getvalue().encode())
        text.seek(0)
        text.truncate()
    file.write(text.getvalue().encode())
    return number


def _cell(value: Any) -> str:
    """Spreadsheets run what starts like a formula; an import takes the ' before it away."""
    text = str(value)
    return f"'{text}" if text.startswith(FORMULAS) else text

"""CSV and JSON of one object a line or in a list, with Waline's names or a map of columns.

A record is a comment, a counter or an account by its `table`, or by the fields that it has.
"""

import csv
from collections.abc import Iterator
from typing import Any

from .json_rows import objects
from .rows import Kind, Refusal, Rows
from .source import MAX_FIELD_BYTES, Damaged, Source
from .waline import TABLES, rows_of

# Spreadsheets run a cell that begins so as a formula; `footfall export` writes a ' before it.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "'")


def read_json(source: Source) -> Rows:
    for found in objects(source):
        if isinstance(found, Refusal):
            yield found
            continue
        yield from _rows(*found, source)


def read_csv(source: Source) -> Rows:
    csv.field_size_limit(4 * MAX_FIELD_BYTES)
    try:
        table = csv.DictReader(_texts(source), dialect=_dialect(source), restval="")
        names = set(table.fieldnames or ())
    except csv.Error as error:
        raise Damaged(f"it is no table: {error}") from error
    missing = sorted(set(source.columns.values()) - names)
    if missing:
        raise Damaged(f"it has no column {', '.join(missing)}; it has {', '.join(sorted(names))}")
    while True:
        try:
            record = next(table, None)
        except csv.Error as error:
            yield Refusal("comments", f"line {table.line_num}", f"is no row: {error}")
            continue
        if record is None:
            return
        sound = {name: _cell(value) for name, value in record.items() if isinstance(name, str)}
        yield from _rows(f"line {table.line_num}", sound, source)


def _rows(where: str, record: dict[str, Any], source: Source) -> Rows:
    columns = source.columns
    named = {name: value for name, value in record.items() if name not in columns.values()}
    named |= {ours: record.get(theirs) for ours, theirs in columns.items()}
    kind = _kind(named)
    if kind is None:
        yield Refusal("comments", where, "is neither a comment nor a counter nor an account")
        return
    yield from rows_of(kind, where, named, source)


def _kind(record: dict[str, Any]) -> Kind | None:
    if table := TABLES.get(str(record.get("table"))):
        return table
    if "comment" in record:
        return "comments"
    if "email" in record and "display_name" in record:
        return "accounts"
    return "counters" if record.get("url") or record.get("path") else None


def _dialect(source: Source) -> type[csv.Dialect]:
    head = source.head().decode(errors="replace").partition("\n")[0]

    class Dialect(csv.excel):
        delimiter = max(",;\t|", key=head.count)

    return Dialect


def _texts(source: Source) -> Iterator[str]:
    return (line.decode(errors="replace") + "\n" for _, line in source.lines(has_blank=True))


def _cell(value: object) -> object:
    is_guarded = isinstance(value, str) and value[:1] == "'" and value[1:2] in FORMULAS
    return value[1:] if is_guarded and isinstance(value, str) and len(value) > 1 else value

"""CSV and JSON, with one object a line or in a list, with Waline's names or a map of columns.

A record is a comment, a counter or an account by its `table`, or by its fields.
"""

import csv
from collections.abc import Iterator
from functools import partial
from typing import Any

from .json_rows import rows
from .rows import ImportRows, Kind, Refusal
from .source import MAX_FIELD_BYTES, Damaged, Source
from .values import text
from .waline import TABLES, rows_of

# Spreadsheets run a cell that starts with one of these as a formula; `footfall export` writes a '
# before it.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "'")
# Empty values in databases' tables, unless they are a person's text.
_NULLS, _WORDS = ("NULL", "\\N"), ("comment", "nick")


def read_json(source: Source) -> ImportRows:
    return rows(source, partial(_rows, source))


def read_csv(source: Source) -> ImportRows:
    csv.field_size_limit(4 * MAX_FIELD_BYTES)
    table = csv.DictReader(texts(source), delimiter=_delimiter(source), restval="")
    _require_columns(source, table)
    while (record := _next(table)) is not None:
        where = f"line {table.line_num}"
        if isinstance(record, str):
            yield Refusal("comments", where, record)
            continue
        sound = {
            name: _cell(name, value) for name, value in record.items() if isinstance(name, str)
        }
        yield from _rows(source, where, sound)


def _require_columns(source: Source, table: "csv.DictReader[str]") -> None:
    try:
        names = set(table.fieldnames or ())
    except csv.Error as error:
        raise Damaged(f"it is not a table: {error}") from error
    if missing := sorted(set(source.columns.values()) - names):
        raise Damaged(f"it has no column {', '.join(missing)}; it has {', '.join(sorted(names))}")


def _next(table: "csv.DictReader[str]") -> dict[Any, Any] | str | None:
    """The next row, its error, or None at the end."""
    try:
        return next(table, None)
    except csv.Error as error:
        return f"is not a row: {error}"


def _rows(source: Source, where: str, record: dict[str, Any]) -> ImportRows:
    named = _renamed(record, source.columns) if source.columns else record
    kind = _kind(named)
    if kind is None:
        yield Refusal("comments", where, "is neither a comment nor a counter nor an account")
        return
    yield from rows_of(source, kind, where, named)


def _renamed(record: dict[str, Any], columns: dict[str, str]) -> dict[str, Any]:
    named = {name: value for name, value in record.items() if name not in columns.values()}
    return named | {ours: record.get(theirs) for ours, theirs in columns.items()}


def _kind(record: dict[str, Any]) -> Kind | None:
    if table := TABLES.get(text(record.get("table")) or ""):
        return table
    if "comment" in record:
        return "comments"
    if "email" in record and "display_name" in record:
        return "accounts"
    return "counters" if record.get("url") or record.get("path") else None


def _delimiter(source: Source) -> str:
    head = source.head().decode(errors="replace").partition("\n")[0]
    return max(",;\t|", key=head.count)


def texts(source: Source) -> Iterator[str]:
    return (line.decode(errors="replace") + "\n" for _, line in source.lines(has_blank=True))


def _cell(name: str, value: object) -> object:
    if value in _NULLS and name not in _WORDS:
        return None
    is_guarded = isinstance(value, str) and value[:1] == "'" and value[1:2] in FORMULAS
    return value[1:] if is_guarded and isinstance(value, str) and len(value) > 1 else value

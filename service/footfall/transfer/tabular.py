"""CSV and JSON, with one object a line or in a list, with Waline's names or a map of columns.

A record is a comment, a counter or an account by its `table`, or by its fields.
"""

from functools import lru_cache, partial
from typing import Any

from .json_rows import rows
from .rows import ImportRows, Kind, Refusal
from .source import Damaged, Source
from .table_rows import records
from .values import text
from .waline import FIELDS, NO_COUNTS, TABLES, rows_of

# Spreadsheets run a cell that starts with one of these as a formula; `footfall export` writes a '
# before it.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "'")
_NAMES = {name.lower(): name for name in (*NO_COUNTS, *FIELDS)}
# Empty values in databases' tables, unless they are a person's text.
_NULLS, _WORDS = ("NULL", "\\N"), ("comment", "nick")


def read_json(source: Source) -> ImportRows:
    return rows(source, partial(_rows, source))


def read_csv(source: Source) -> ImportRows:
    for number, row in records(source, partial(_names, source)):
        where = f"line {number}"
        if isinstance(row, str):
            yield Refusal("comments", where, row)
        else:
            sound = {name: _cell(name, value) for name, value in row.items()}
            yield from _rows(source, where, sound)


def _names(source: Source, names: list[str]) -> list[str]:
    """Raises Damaged for missing columns, and for a table of something else."""
    has = f"it has {', '.join(sorted(names))}"
    if missing := sorted(set(source.columns.values()) - set(names)):
        raise Damaged(f"it has no column {', '.join(missing)}; {has}")
    known = {_known_name(name) for name in _renamed(dict.fromkeys(names), source.columns)}
    if not known & {"url", "path", "target", "email", "table"}:
        raise Damaged(
            f"it has no column url, path, email or table; {has}: name yours with `--map`, such as "
            "--map url=page,comment=text"
        )
    return names


def _rows(source: Source, where: str, record: dict[str, Any]) -> ImportRows:
    renamed = _renamed(record, source.columns)
    # A name as it is counts before one of another case.
    named = {_known_name(name): value for name, value in renamed.items()} | renamed
    kind = _kind(named)
    if kind is None:
        yield Refusal("comments", where, "is neither a comment nor a counter nor an account")
        return
    known = {name: value for name, value in named.items() if _known_name(name) == name}
    yield from rows_of(source, kind, where, known)


def _renamed(record: dict[str, Any], columns: dict[str, str]) -> dict[str, Any]:
    named = {name: value for name, value in record.items() if name not in columns.values()}
    return named | {ours: record.get(theirs) for ours, theirs in columns.items()}


@lru_cache(1024)
def _known_name(name: str) -> str:
    """A column's name as Waline writes it: PostgreSQL writes all in lower case, people write
    capitals and blanks."""
    return _NAMES.get(name.strip().lower(), name)


def _kind(record: dict[str, Any]) -> Kind | None:
    if table := TABLES.get(text(record.get("table")) or ""):
        return table
    if "comment" in record:
        return "comments"
    if "email" in record and "display_name" in record:
        return "accounts"
    return "counters" if record.get("url") or record.get("path") else None


def _cell(name: str, value: object) -> object:
    if value in _NULLS and name not in _WORDS:
        return None
    is_guarded = isinstance(value, str) and value[:1] == "'" and value[1:2] in FORMULAS
    return value[1:] if is_guarded and isinstance(value, str) and len(value) > 1 else value

"""Twikoo's comments, in HTML, and its counters, from any of its databases."""

from collections.abc import Iterable
from functools import partial

import orjson

from .fields import Record
from .json_rows import rows
from .rows import CommentRow, ImportRow, ImportRows
from .source import Source
from .values import html_block
from .waline import comment, counters


def read(source: Source) -> ImportRows:
    return rows(source, partial(_rows, source))


def _rows(source: Source, where: str, record: Record) -> Iterable[ImportRow]:
    if "comment" in record:
        return [_comment(source, record)]
    return counters(where, {"url": record.get("url"), "time": record.get("time")})


def _comment(source: Source, record: Record) -> CommentRow:
    votes = _votes(record.get("ups", record.get("like")))
    named = {
        "like": votes,
        # Twikoo's dates of a comment are in `created` alone.
        "insertedAt": record.get("created"),
        "sticky": record.get("top"),
        "status": None,
    }
    row = comment(source, {**record, **named})
    return row._replace(text=html_block(row.text), account="", is_html=True)


def _votes(value: object) -> object:
    """The length of a list of voters, which some databases store as JSON in a text."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = orjson.loads(value)
        except ValueError:
            return value
    return len(value) if isinstance(value, list) else value

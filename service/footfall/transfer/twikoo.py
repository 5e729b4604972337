"""Twikoo's comments, in HTML, and its counters, from any of its databases."""

from collections.abc import Iterable
from functools import partial

import orjson

from .json_rows import Record, rows
from .rows import CommentRow, Row, Rows
from .source import Source
from .values import html_block, moment, number, truth
from .waline import comment, counters


def read(source: Source) -> Rows:
    return rows(source, partial(_rows, source))


def _rows(source: Source, where: str, record: Record) -> Iterable[Row]:
    if "comment" in record:
        return [_comment(source, record)]
    return counters(where, {"url": record.get("url"), "time": record.get("time")})


def _comment(source: Source, record: Record) -> CommentRow:
    row = comment(source, record)
    return row._replace(
        text=html_block(row.text),
        at=moment(record.get("created"), source.zone),
        status="spam" if truth(record.get("isSpam")) else "approved",
        likes=number(_votes(record.get("ups", record.get("like")))),
        is_pinned=truth(record.get("top")),
        account="",
        is_html=True,
    )


def _votes(value: object) -> object:
    """The length of a list of voters, which some databases store as JSON in a text."""
    if isinstance(value, str) and value.startswith("["):
        try:
            return orjson.loads(value)
        except ValueError:
            return 0
    return value

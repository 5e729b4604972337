"""Valine's comments and counters, as LeanCloud exports them: a list, {"results": […]}, or one
object a line; comments in HTML."""

from collections.abc import Iterable
from functools import partial

from .fields import Record
from .json_rows import rows
from .rows import CommentRow, ImportRow, ImportRows
from .source import Source
from .values import html_block
from .waline import comment, counters


def read(source: Source) -> ImportRows:
    return rows(source, partial(_rows, source))


def _rows(source: Source, where: str, record: Record) -> Iterable[ImportRow]:
    return [_comment(source, record)] if "comment" in record else counters(where, record)


def _comment(source: Source, record: Record) -> CommentRow:
    row = comment(source, record)
    return row._replace(text=html_block(row.text), is_html=True)

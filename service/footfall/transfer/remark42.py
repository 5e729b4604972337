"""Remark42's backup: a line about the site, then one comment a line, in HTML and mostly also in
Markdown.
"""

from .json_rows import Record, rows
from .rows import CommentRow, Rows
from .source import Source
from .values import html_block, moment, number, path_of, text, truth


def read(source: Source) -> Rows:
    # The first line has no comment.
    return rows(source, lambda where, record: [_comment(source, record)] if _page(record) else [])


def _page(record: Record) -> str:
    locator = record.get("locator")
    return path_of(locator.get("url")) if isinstance(locator, dict) else ""


def _nick(record: Record) -> str:
    # A user's ip is a digest, and mail addresses are not in a backup.
    user = record.get("user")
    return text(user.get("name")) if isinstance(user, dict) else ""


def _comment(source: Source, record: Record) -> CommentRow:
    parent, markdown = text(record.get("pid")), text(record.get("orig"))
    return CommentRow(
        source=text(record.get("id")),
        path=_page(record),
        # Comments that were imported into Remark42 have no Markdown.
        text=markdown or html_block(text(record.get("text"))),
        at=moment(record.get("time"), source.zone),
        nick=_nick(record),
        parents=(parent,) if parent else (),
        status="deleted" if truth(record.get("delete")) else "approved",
        likes=number(record.get("score")),
        is_pinned=truth(record.get("pin")),
        is_html=not markdown,
    )

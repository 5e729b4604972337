"""Artalk's exchange format, Artrans: a JSON list whose values are all texts, in Markdown."""

from .json_rows import Record, rows
from .rows import CommentRow, Rows
from .source import Source
from .values import moment, number, path_of, text, truth


def read(source: Source) -> Rows:
    return rows(source, lambda where, record: [_comment(source, record)])


def _comment(source: Source, record: Record) -> CommentRow:
    # `rid` is here the comment that is replied to.
    parent = text(record.get("rid"))
    return CommentRow(
        source=text(record.get("id")),
        path=path_of(record.get("page_key")),
        text=text(record.get("content")),
        # Version 1 has `date`.
        at=moment(record.get("created_at") or record.get("date"), source.zone),
        nick=text(record.get("nick")),
        mail=text(record.get("email")),
        link=text(record.get("link")),
        ua=text(record.get("ua")),
        address=text(record.get("ip")),
        parents=() if parent in ("", "0") else (parent,),
        status="waiting" if truth(record.get("is_pending")) else "approved",
        likes=number(record.get("vote_up")),
        is_pinned=truth(record.get("is_pinned")),
    )

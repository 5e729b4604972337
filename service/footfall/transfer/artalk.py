"""Artalk's exchange format, Artrans: a JSON list whose values are all texts, in Markdown."""

from .fields import Fields, Record
from .json_rows import rows
from .rows import CommentRow, ImportRows
from .source import Source


def read(source: Source) -> ImportRows:
    return rows(source, lambda where, record: [_comment(source, record)])


def _comment(source: Source, record: Record) -> CommentRow:
    fields = Fields(record, source.zone)
    # `rid` is here the comment that is replied to.
    parent = fields.text("rid")
    return CommentRow(
        source=fields.text("id"),
        path=fields.text("page_key"),
        text=fields.text("content"),
        # Version 1 has `date`.
        at=fields.moment("created_at", "date"),
        nick=fields.text("nick"),
        mail=fields.text("email"),
        link=fields.text("link"),
        ua=fields.text("ua"),
        address=fields.text("ip"),
        parents=() if parent in ("", "0") else (parent,),
        status=fields.standing("is_pending", "waiting"),
        likes=fields.number("vote_up"),
        is_pinned=fields.truth("is_pinned"),
        notes=fields.notes,
    )

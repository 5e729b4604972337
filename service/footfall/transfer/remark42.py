"""Remark42's backup: a line about the site, then one comment a line, in HTML and mostly also in
Markdown.
"""

from .fields import Fields, Record
from .json_rows import rows
from .rows import CommentRow, ImportRows
from .source import Source
from .values import html_block, path_of


def read(source: Source) -> ImportRows:
    return rows(source, lambda where, record: _rows(source, record))


def _rows(source: Source, record: Record) -> list[CommentRow]:
    return [] if _is_about_the_site(record) else [_comment(source, record)]


def _is_about_the_site(record: Record) -> bool:
    """The first line has no comment."""
    return "version" in record and "locator" not in record


def _page(record: Record) -> str:
    locator = record.get("locator")
    return path_of(locator.get("url")) if isinstance(locator, dict) else ""


def _user(record: Record) -> Record:
    # A user's ip is a digest, and mail addresses are not in a backup.
    user = record.get("user")
    return {"name": user.get("name")} if isinstance(user, dict) else {"name": user}


def _comment(source: Source, record: Record) -> CommentRow:
    fields = Fields({**record, **_user(record)}, source.zone)
    parent, markdown = fields.text("pid"), fields.text("orig")
    return CommentRow(
        source=fields.text("id"),
        path=_page(record),
        # Comments that were imported into Remark42 have no Markdown.
        text=markdown or html_block(fields.text("text")),
        at=fields.moment("time"),
        nick=fields.text("name"),
        parents=(parent,) if parent else (),
        status="deleted" if fields.truth("delete") else "approved",
        likes=fields.number("score"),
        is_pinned=fields.truth("pin"),
        is_html=not markdown,
        notes=fields.notes,
    )

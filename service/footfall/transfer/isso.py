"""Isso's SQLite database, and its generic JSON: comments in Markdown."""

import sqlite3

from ..model import Standing
from .databases import MAX_VALUE_BYTES, opened
from .fields import Fields, Record
from .json_rows import rows
from .rows import CommentRow, ImportRows, Refusal
from .source import Source
from .values import text

_MODES: dict[str, Standing] = {"": "approved", "1": "approved", "2": "waiting", "4": "deleted"}
_NAMES = "id", "parent", "created", "mode", "remote_addr", "text", "author", "email", "website"
# Made of the names above, never of a file's content.
_COMMENT = f"SELECT {', '.join('c.' + name for name in (*_NAMES, 'likes'))}, t.uri FROM comments c \
JOIN threads t ON t.id = c.tid WHERE c.id = ?"  # noqa: S608


def read(source: Source) -> ImportRows:
    with opened(source, "Isso") as db:
        for (id,) in db.execute("SELECT id FROM comments ORDER BY id"):
            yield from _of_row(db, id)


def _of_row(db: sqlite3.Connection, id: int) -> ImportRows:
    try:
        row = db.execute(_COMMENT, (id,)).fetchone()
    except sqlite3.DataError:
        yield Refusal("comments", str(id), f"has a value of more than {MAX_VALUE_BYTES:,} bytes")
        return
    if row is None:
        yield Refusal("comments", str(id), "belongs to no thread")
        return
    record = dict(zip((*_NAMES, "likes", "uri"), row, strict=True))
    yield _comment(record, record["uri"])


def read_json(source: Source) -> ImportRows:
    """Threads, each with its comments; one thread at a time is in memory."""
    return rows(source, _of_thread)


def _of_thread(where: str, thread: Record) -> ImportRows:
    comments = thread.get("comments")
    if comments is None:
        return
    if not isinstance(comments, list):
        yield Refusal("comments", where, "has no list of comments")
        return
    for comment in comments:
        if isinstance(comment, dict):
            yield _comment(comment, thread.get("id"))
        else:
            yield Refusal("comments", where, "has a comment that is not an object")


def _comment(record: Record, page: object) -> CommentRow:
    fields = Fields(record)
    parent = fields.text("parent")
    return CommentRow(
        source=fields.text("id"),
        path=text(page) or "",
        text=fields.text("text"),
        at=fields.moment("created"),
        # isso/views/comments.py escapes these before they are stored.
        nick=fields.escaped("author"),
        mail=fields.escaped("email"),
        link=fields.escaped("website"),
        # Isso has anonymised it.
        address=fields.text("remote_addr"),
        parents=(parent,) if parent else (),
        status=fields.choice("mode", _MODES, "waiting"),
        likes=fields.number("likes"),
        notes=fields.notes,
    )

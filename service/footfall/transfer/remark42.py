"""Remark42's backup: a line about the site, then one comment a line, in HTML and mostly also in
Markdown.
"""

from collections.abc import Iterator

from .fields import Fields, Record
from .json_rows import rows
from .rows import CommentRow, ImportRows
from .source import Source
from .values import html_block, text


def read(source: Source) -> ImportRows:
    # The first line lists blocked users.
    blocked = set[str]()

    def make(where: str, record: Record) -> list[CommentRow]:
        if "version" in record and "locator" not in record:
            blocked.update(_blocked(record))
            return []
        return [_comment(source, record, blocked)]

    return rows(source, make)


def _blocked(record: Record) -> Iterator[str]:
    users = record.get("users")
    for user in users if isinstance(users, list) else ():
        state = user.get("blocked") if isinstance(user, dict) else None
        if isinstance(state, dict) and Fields(state).truth("status"):
            yield text(user.get("id")) or ""


def _page(record: Record) -> str:
    locator = record.get("locator")
    return (text(locator.get("url")) or "") if isinstance(locator, dict) else ""


def _comment(source: Source, record: Record, blocked: set[str]) -> CommentRow:
    # A user's ip is a digest, and email addresses are not in a backup.
    user = record.get("user")
    user = user if isinstance(user, dict) else {"name": user}
    fields = Fields({**record, "name": user.get("name")}, source.zone)
    parent, markdown = fields.text("pid"), fields.text("orig")
    is_blocked = user.get("block") is True or (text(user.get("id")) or "") in blocked - {""}
    return CommentRow(
        source=fields.text("id"),
        path=_page(record),
        # Comments that were imported into Remark42 have no Markdown.
        text=markdown or html_block(fields.text("text")),
        at=fields.moment("time"),
        nick=fields.text("name"),
        parents=(parent,) if parent else (),
        status=fields.standing("delete", "deleted"),
        # Remark42 shows it to administrators alone.
        hidden="was written by a blocked user" if is_blocked else "",
        likes=fields.number("score"),
        is_pinned=fields.truth("pin"),
        is_html=not markdown,
        notes=fields.notes,
    )

"""Remark42's backup: a line about the site, then one comment a line; HTML, and mostly its
Markdown."""

from .json_rows import objects
from .rows import CommentRow, Refusal, Rows
from .source import Source
from .values import html_block, moment, number, path_of, text, truth


def read(source: Source) -> Rows:
    for found in objects(source):
        if isinstance(found, Refusal):
            yield found
            continue
        _, record = found
        locator, user = record.get("locator"), record.get("user")
        if not isinstance(locator, dict):
            # The first line has no comment.
            continue
        user = user if isinstance(user, dict) else {}
        parent, markdown = text(record.get("pid")), text(record.get("orig"))
        yield CommentRow(
            source=text(record.get("id")),
            path=path_of(locator.get("url")),
            # What was imported there has no Markdown.
            text=markdown or html_block(text(record.get("text"))),
            at=moment(record.get("time"), source.zone),
            nick=text(user.get("name")),
            # user.ip is a digest, and mail addresses are not in a backup.
            parents=(parent,) if parent else (),
            status="deleted" if truth(record.get("delete")) else "approved",
            likes=number(record.get("score")),
            is_pinned=truth(record.get("pin")),
            is_html=not markdown,
        )

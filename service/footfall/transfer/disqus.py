"""Disqus' XML: threads are pages, posts are comments in HTML.

A thread may occur twice, for two addresses of one page, and may have no address at all.
"""

from .fields import Fields, Record
from .rows import CommentRow, ImportRows, Refusal
from .source import Source
from .values import html_block, path_of
from .xml_rows import elements


def read(source: Source) -> ImportRows:
    # Threads come before posts; a site has as many as pages.
    pages = dict[str, str]()
    for element in elements(source, ("disqus/thread", "disqus/post")):
        found = element.fields
        if element.name == "thread":
            pages[found.get("@id", "")] = path_of(found.get("link"))
        else:
            yield _comment(found, pages, source)


def _comment(record: Record, pages: dict[str, str], source: Source) -> CommentRow | Refusal:
    fields = Fields(record, source.zone)
    id, path = fields.text("@id"), pages.get(fields.text("thread@id"), "")
    if not path:
        return Refusal("comments", id, "belongs to a thread without an address")
    parent, is_deleted, is_spam = (
        fields.text("parent@id"),
        fields.truth("isDeleted"),
        fields.truth("isSpam"),
    )
    return CommentRow(
        source=id,
        path=path,
        text=html_block(fields.text("message")),
        at=fields.moment("createdAt"),
        nick=fields.text("author/name"),
        mail=fields.text("author/email"),
        address=fields.text("ipAddress"),
        parents=(parent,) if parent else (),
        status="deleted" if is_deleted else "spam" if is_spam else "approved",
        is_html=True,
        notes=fields.notes,
    )

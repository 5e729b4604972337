"""Disqus' XML: threads are pages, posts are comments in HTML.

A thread may occur twice, for two addresses of one page, and may have no address at all.
"""

from typing import NamedTuple

from .fields import Fields, Record
from .rows import CommentRow, ImportRows, Refusal
from .source import Source
from .values import html_block, truth
from .xml_rows import elements


class _Thread(NamedTuple):
    page: str
    is_deleted: bool


def read(source: Source) -> ImportRows:
    # Threads come before posts; a site has as many as pages.
    threads = dict[str, _Thread]()
    for element in elements(source, ("disqus/thread", "disqus/post")):
        fields = element.fields
        if element.name == "thread":
            threads[fields.get("@id", "")] = _thread(fields, source)
        else:
            yield _comment(fields, threads, source)


def _thread(record: Record, source: Source) -> _Thread:
    identifier = record.get("id", "") if source.page_by == "identifier" else ""
    return _Thread(
        identifier or record.get("link", ""), truth(record.get("isDeleted")) is not False
    )


def _comment(record: Record, threads: dict[str, _Thread], source: Source) -> CommentRow | Refusal:
    fields = Fields(record, source.zone)
    id, thread = fields.text("@id"), threads.get(fields.text("thread@id"))
    if not (thread and thread.page):
        return Refusal("comments", id, "belongs to a thread without an address")
    parent = fields.text("parent@id")
    # Only other systems, which write their exports like this, have it.
    is_known = "isApproved" not in record
    status = "approved" if is_known else fields.standing("isApproved", "approved", "waiting")
    status = fields.standing("isDeleted", "deleted", fields.standing("isSpam", "spam", status))
    return CommentRow(
        source=id,
        path=thread.page,
        text=html_block(fields.text("message")),
        at=fields.moment("createdAt"),
        nick=fields.text("author/name"),
        mail=fields.text("author/email"),
        address=fields.text("ipAddress"),
        parents=(parent,) if parent else (),
        status="deleted" if thread.is_deleted else status,
        hidden="belongs to a discussion that was deleted there" if thread.is_deleted else "",
        is_html=True,
        notes=fields.notes,
    )

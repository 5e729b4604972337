"""Disqus' XML: threads are pages, posts are comments in HTML.

A thread may occur twice, for two addresses of one page, and may have no address at all.
"""

from .rows import CommentRow, Refusal, Rows
from .source import Source
from .values import html_block, moment, path_of
from .xml_rows import Fields, elements


def read(source: Source) -> Rows:
    # Threads come before posts; a site has as many as pages.
    pages = dict[str, str]()
    for element in elements(source, ("disqus/thread", "disqus/post")):
        fields = element.fields
        if element.name == "thread":
            pages[fields.get("@id", "")] = path_of(fields.get("link"))
        else:
            yield _comment(fields, pages, source)


def _comment(fields: Fields, pages: dict[str, str], source: Source) -> CommentRow | Refusal:
    id = fields.get("@id", "")
    path = pages.get(fields.get("thread@id", ""), "")
    if not path:
        return Refusal("comments", id, "belongs to a thread without an address")
    parent = fields.get("parent@id")
    return CommentRow(
        source=id,
        path=path,
        text=html_block(fields.get("message", "")),
        at=moment(fields.get("createdAt"), source.zone),
        nick=fields.get("author/name", ""),
        mail=fields.get("author/email", ""),
        address=fields.get("ipAddress", ""),
        parents=(parent,) if parent else (),
        status=(
            "deleted" if fields.get("isDeleted") == "true"
            else "spam" if fields.get("isSpam") == "true" else "approved"
        ),
        is_html=True,
    )  # fmt: skip

"""WordPress' export (WXR): comments of each post, in HTML whose line breaks count."""

from datetime import UTC
from typing import Literal

from ..model import Status
from .fields import Fields, Record
from .rows import CommentRow, ImportRows, Refusal
from .source import Source
from .values import html_block, path_of
from .xml_rows import elements

_STATUSES: dict[str, Status | Literal["deleted"]] = {
    "": "approved",
    "1": "approved",
    "approve": "approved",
    "0": "waiting",
    "hold": "waiting",
    "spam": "spam",
    "trash": "deleted",
    "post-trashed": "deleted",
}


def read(source: Source) -> ImportRows:
    for element in elements(source, ("channel/item", "item/comment")):
        if element.name == "comment":
            yield _comment(element.fields, element.around.get("link", ""), source)


def _comment(record: Record, link: str, source: Source) -> CommentRow | Refusal:
    is_without_gmt = record.get("comment_date_gmt", "").startswith("0000")
    fields = Fields(record, source.zone if is_without_gmt else UTC)
    id, kind, parent = map(fields.text, ("comment_id", "comment_type", "comment_parent"))
    if kind not in ("", "comment"):
        return Refusal("comments", id, f"is no comment but a {kind[:32]}")
    return CommentRow(
        source=id,
        path=path_of(link),
        text=html_block(fields.text("comment_content"), has_lines=True),
        at=fields.moment("comment_date" if is_without_gmt else "comment_date_gmt"),
        nick=fields.text("comment_author"),
        mail=fields.text("comment_author_email"),
        link=fields.text("comment_author_url"),
        address=fields.text("comment_author_IP"),
        ua=fields.text("comment_agent"),
        parents=() if parent in ("", "0") else (parent,),
        status=fields.choice("comment_approved", _STATUSES, "waiting"),
        is_html=True,
        notes=fields.notes,
    )

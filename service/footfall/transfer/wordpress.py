"""WordPress' export (WXR): comments of each post, in HTML whose line breaks count."""

from typing import Literal

from ..model import Status
from .rows import CommentRow, Refusal, Rows
from .source import Source
from .values import html_block, moment, path_of
from .xml_rows import Fields, elements

_STATUSES: dict[str, Status | Literal["deleted"]] = {
    "1": "approved", "approve": "approved", "0": "waiting", "hold": "waiting", "spam": "spam",
    "trash": "deleted", "post-trashed": "deleted",
}  # fmt: skip


def read(source: Source) -> Rows:
    for element in elements(source, ("channel/item", "item/comment")):
        if element.name == "comment":
            yield _comment(element.fields, element.around.get("link", ""), source)


def _comment(fields: Fields, link: str, source: Source) -> CommentRow | Refusal:
    id, parent = fields.get("comment_id", ""), fields.get("comment_parent", "0")
    if fields.get("comment_type", "comment") not in ("", "comment"):
        return Refusal("comments", id, f"is no comment but a {fields['comment_type'][:32]}")
    written = fields.get("comment_date_gmt", "")
    if written.startswith("0000"):
        written = fields.get("comment_date", "")
    return CommentRow(
        source=id,
        path=path_of(link),
        text=html_block(fields.get("comment_content", ""), has_lines=True),
        at=moment(written, source.zone),
        nick=fields.get("comment_author", ""),
        mail=fields.get("comment_author_email", ""),
        link=fields.get("comment_author_url", ""),
        address=fields.get("comment_author_IP", ""),
        ua=fields.get("comment_agent", ""),
        parents=() if parent in ("", "0") else (parent,),
        status=_STATUSES.get(fields.get("comment_approved", "1"), "waiting"),
        is_html=True,
    )

"""WordPress' export (WXR): comments of each post, in HTML whose line breaks count."""

from datetime import UTC
from typing import Literal

from ..model import Status
from .fields import Fields, Record
from .rows import CommentRow, ImportRows, Refusal
from .source import Source
from .values import html_block
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
# A post's status -> why not everybody sees its comments. Those of plugins are not known.
# https://wordpress.org/documentation/article/post-status/
_UNSEEN = {
    "private": "belongs to a private post",
    "draft": "belongs to a draft",
    "auto-draft": "belongs to a draft",
    "pending": "belongs to a post pending review",
    "future": "belongs to a scheduled post",
    "trash": "belongs to a post in the trash",
}


def read(source: Source) -> ImportRows:
    # An attachment is as public as its post, which may come later, or in another file of a large
    # site's export.
    posts, others = _posts(source), [each for each in source.together if each is not source]
    for element in elements(source, ("channel/item", "item/comment")):
        if element.name == "comment":
            post = element.around
            why = _hidden(post)
            above = post.get("post_parent", "0")
            if post.get("status") == "inherit" and above != "0":
                while above not in posts and others:
                    posts = _posts(others.pop()) | posts
                why = why or posts.get(above, "belongs to an attachment of a missing post")
            yield _comment(element.fields, post.get("link", ""), why, source)


def _posts(source: Source) -> dict[str, str]:
    """The reasons why posts are hidden, by their ids."""
    items = elements(source, ("channel/item",))
    return {item.fields.get("post_id", ""): _hidden(item.fields) for item in items}


def _hidden(post: Record) -> str:
    """Why a post, and with it its comments, was not public; "" for a public one."""
    status = post.get("status", "publish").strip()
    if post.get("post_password", "").strip():
        return "belongs to a password-protected post"
    if status in ("publish", "inherit"):
        return ""
    return _UNSEEN.get(status, "belongs to a post of unknown status")


def _comment(record: Record, link: str, hidden: str, source: Source) -> CommentRow | Refusal:
    gmt = record.get("comment_date_gmt", "").strip()
    is_without_gmt = not gmt or gmt.startswith("0000")
    fields = Fields(record, source.zone if is_without_gmt else UTC)
    id, kind, parent = map(fields.text, ("comment_id", "comment_type", "comment_parent"))
    if kind not in ("", "comment"):
        return Refusal("comments", id, f"is not a comment but a {kind[:32]}")
    status = fields.choice("comment_approved", _STATUSES, "waiting")
    return CommentRow(
        source=id,
        path=link,
        text=html_block(fields.text("comment_content"), has_lines=True),
        at=fields.moment("comment_date" if is_without_gmt else "comment_date_gmt"),
        # WordPress filters names as HTML, and escapes addresses.
        nick=fields.escaped("comment_author"),
        mail=fields.text("comment_author_email"),
        link=fields.escaped("comment_author_url"),
        address=fields.text("comment_author_IP"),
        ua=fields.text("comment_agent"),
        parents=() if parent in ("", "0") else (parent,),
        status="deleted" if hidden == _UNSEEN["trash"] else status,
        hidden=hidden,
        is_html=True,
        notes=fields.notes,
    )

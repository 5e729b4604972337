"""Templates of emails: Waline's, which are in Nunjucks, with its names of variables.

`self` is the comment, `parent` the comment it replies to, `site` the site. Operators write
templates, so the sandbox only limits them. Visitors' text is escaped before it is filled in, so
that the filter `safe`, which most templates use everywhere, lets no HTML of theirs through.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ..markup import shown_name
from ..model import Comment, Status
from ..render.page_address import page_path
from .notification import Notification, letter_html

Fill = Callable[[Notification], str]


def subject_of(template: str) -> Fill:
    """Plain text. Raises ValueError for a template that cannot be used."""
    fill = _compiled(template, is_html=False)
    return lambda notification: fill(_plain(notification))


def body_of(template: str) -> Fill:
    """HTML. Raises ValueError for a template that cannot be used."""
    fill = _compiled(template, is_html=True)
    return lambda notification: fill(_escaped(notification)).strip()


def _compiled(template: str, *, is_html: bool) -> Callable[[Mapping[str, Any]], str]:
    # Imported where emails are sent, since Jinja is heavy.
    from ..render.nunjucks import compile_text

    return compile_text(template, NAMES, is_html=is_html)


# Jinja has a `self` of its own, so templates are compiled with another name for it.
NAMES = ("self_", "parent", "site")


def _plain(notification: Notification) -> Mapping[str, Any]:
    url, parent = notification.site_url, notification.parent
    return {
        "self_": _fields(notification.about, notification.status, url),
        "parent": _fields(parent, notification.parent_status, url) if parent else {},
        "site": {"name": notification.site_name, "url": url, "postUrl": notification.post_url},
    }


def _escaped(notification: Notification) -> Mapping[str, Any]:
    from markupsafe import Markup, escape  # comes with Jinja, and is loaded with it

    plain = _plain(notification)
    safe = {
        name: {field: escape(text) for field, text in fields.items()}
        for name, fields in plain.items()
    }
    # The renderer has made these values, and they are safe.
    for name, comment in (("self_", notification.about), ("parent", notification.parent)):
        if comment:
            safe[name]["comment"] = Markup(letter_html(comment, notification.site_url))  # noqa: S704
    return safe


def _fields(comment: Comment, status: Status, site_url: str) -> dict[str, str]:
    """`url` starts with a slash: templates write it after the site's address."""
    return {
        "objectId": comment.id,
        "nick": shown_name(comment.nick or ""),
        "mail": comment.mail or "",
        "link": comment.link or "",
        "url": page_path(comment.path, site_url),
        "comment": comment.source,
        "status": status,
        "ip": comment.address,
        "ua": comment.ua or "",
    }

"""Templates of emails: Waline's, which are in Nunjucks, with its names of variables.

`self` is the comment, `parent` what it replies to, `site` the site. Operators write templates, so
the sandbox is only there to bound them. Strangers' words are escaped before they are filled in, so
that the filter `safe`, which most templates use everywhere, lets no HTML of theirs through.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ..model import Comment, Status
from ..render.links import pictures_as_links
from ..render.page_address import page_path
from .notification import Notification

# The length of a subject; email programs cut off longer ones anyhow.
MAX_SUBJECT_CHARACTERS = 200

Fill = Callable[[Notification], str]

OWNER_SUBJECT = "{{ site.name }}: {{ self.nick }} commented"
OWNER_BODY = """
<p><b>{{ self.nick }}</b> wrote on <a href="{{ site.postUrl }}">{{ self.url }}</a>:</p>
<blockquote>{{ self.comment | safe }}</blockquote>
{% if self.status == "waiting" %}<p>It waits for your approval.</p>{% endif %}
"""
READER_SUBJECT = "{{ site.name }}: {{ self.nick }} replied to you"
READER_BODY = """
<p>{{ parent.nick }}, you wrote on <a href="{{ site.url }}">{{ site.name }}</a>:</p>
<blockquote>{{ parent.comment | safe }}</blockquote>
<p><b>{{ self.nick }}</b> replied:</p>
<blockquote>{{ self.comment | safe }}</blockquote>
<p><a href="{{ site.postUrl }}">Read it there</a></p>
"""


def subject_of(template: str) -> Fill:
    """One line of plain text. Raises ValueError for a template that cannot be used."""
    fill = _compiled(template, is_html=False)
    return lambda notification: " ".join(fill(_plain(notification)).split())[
        :MAX_SUBJECT_CHARACTERS
    ]


def body_of(template: str) -> Fill:
    """HTML. Raises ValueError for a template that cannot be used."""
    fill = _compiled(template, is_html=True)
    return lambda notification: fill(_escaped(notification)).strip()


def text_of(notification: Notification) -> str:
    """The same as plain text, for email programs that show no HTML."""
    about, parent = notification.about, notification.parent
    where = notification.site_name or "the site"
    lines = [f"{about.nick or ''} wrote on {where}:", "", about.source]
    if parent:
        lines += ["", f"in reply to {parent.nick or ''}:", "", parent.source]
    if notification.now == "waiting":
        lines += ["", "It waits for approval."]
    return "\n".join([*lines, "", notification.post_url])


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
            safe[name]["comment"] = Markup(pictures_as_links(comment.html))  # noqa: S704
    return safe


def _fields(comment: Comment, status: Status, site_url: str) -> dict[str, str]:
    """`url` begins with a slash: templates write it behind the site's address."""
    return {
        "objectId": comment.id,
        "nick": comment.nick or "",
        "mail": comment.mail or "",
        "link": comment.link or "",
        "url": page_path(comment.path, site_url),
        "comment": comment.source,
        "status": status,
        "ip": comment.address,
        "ua": comment.ua or "",
    }

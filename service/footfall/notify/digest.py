"""The email that tells the owner of all comments that came within some minutes."""

import html
from collections.abc import Sequence
from email.message import EmailMessage
from typing import NamedTuple

from ..model import Comment
from ..plurals import number_of
from ..render.page_address import page_path
from .mail import MAIL

MAX_SAMPLES = 5
MAX_SAMPLE_CHARACTERS = 200


class News(NamedTuple):
    """`number` of comments have come, `samples` are the newest of them; `waiting` is how many wait
    for approval on the whole site. `queue_url` is "" if the service does not know its address."""

    number: int
    waiting: int
    samples: Sequence[Comment]
    site_name: str
    site_url: str
    queue_url: str


def message_of(news: News) -> EmailMessage:
    """Without a recipient."""
    message = EmailMessage(MAIL)
    site = " ".join(news.site_name.split()) or "Your site"
    message["Subject"] = f"{site}: {number_of(news.number, 'new comment')}"
    message["Auto-Submitted"] = "auto-generated"
    texts = [_sample(comment, news.site_url) for comment in news.samples]
    counted = f"{number_of(news.number, 'new comment')} since the last email."
    if news.waiting:
        verb = "waits" if news.waiting == 1 else "wait"
        counted += f" {number_of(news.waiting, 'comment')} {verb} for your approval."
    rest = news.number - len(texts)
    more = f"… and {rest:,} more." if rest else ""
    review = f"Review them: {news.queue_url}" if news.queue_url else ""
    quotes = [f"{head}\n{text}" for head, text in texts]
    message.set_content("\n\n".join(filter(None, [counted, *quotes, more, review])) + "\n")
    link = f'<a href="{html.escape(news.queue_url)}">Review them</a>' if news.queue_url else ""
    parts = [
        html.escape(counted),
        *(f"<b>{html.escape(head)}</b><br>{html.escape(text)}" for head, text in texts),
        more,
        link,
    ]
    message.add_alternative("\n".join(f"<p>{part}</p>" for part in parts if part), "html")
    return message


def _sample(comment: Comment, site_url: str) -> tuple[str, str]:
    """Where and by whom, and how it begins. It has no link: a spammer's would be one."""
    text = " ".join(comment.source.split())
    if len(text) > MAX_SAMPLE_CHARACTERS:
        text = f"{text[:MAX_SAMPLE_CHARACTERS]}…"
    return f"{comment.nick or 'Anonymous'} on {page_path(comment.path, site_url)}", text

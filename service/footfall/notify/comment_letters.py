"""Emails about comments: to the owner, of one comment or of several in a digest, and to readers.

A comment that is not public is quoted as plain text, without HTML and without a link to it.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..markup import shown_name, visible
from ..model import Comment, Status
from ..render.page_address import page_address, page_path
from .letter import Letter, Link, Quote
from .mail_words import Words
from .notification import Notification, letter_html

MAX_SAMPLES = 5
MAX_SAMPLE_CHARACTERS = 200


class OwnerLinks(NamedTuple):
    """Addresses: of the queue, and of pages that approve one comment or mark it as spam."""

    queue: str
    approve: str
    spam: str


class Unsubscribing(NamedTuple):
    """May this reader get an email about a thread now? And the links that unsubscribe from it, or
    from all: "" without SERVER_URL."""

    may_get: bool
    of_thread: str = ""
    of_all: str = ""


class Wave(NamedTuple):
    """Comments that share this: `kind` and `value` are a group's of the queue."""

    kind: str
    value: str
    number: int


class News(NamedTuple):
    """`number` of new comments, `samples` are the newest of those in no wave; `waiting` is the
    number of pending ones on the whole site. `queue_url` is "" without SERVER_URL; `titles` are
    those of pages that are known, by path."""

    number: int
    waiting: int
    samples: Sequence[Comment]
    waves: Sequence[Wave]
    site_name: str
    site_url: str
    queue_url: str
    titles: Mapping[str, str]


def owner_letter(words: Words, notification: Notification, links: OwnerLinks | None) -> Letter:
    about, parent, say = notification.about, notification.parent, words.say
    nick, site = _nick(words, about), _site(words, notification.site_name)
    is_waiting = notification.status == "waiting"
    kind = "reported" if notification.by == "readers" else "waiting"
    opening = f"owner.{kind}" if is_waiting else "owner.new"
    lines: list[str | Quote] = [
        say(opening, nick=nick, page=_page_of(notification)),
        _quote(about, notification.status, notification.site_url),
    ]
    if parent:
        lines += [
            say("owner.parent", nick=_nick(words, parent)),
            _quote(parent, notification.parent_status, notification.site_url),
        ]
    actions = list[Link]()
    if links:
        actions.append(Link(say("owner.review"), links.queue))
        if is_waiting:
            actions.append(Link(say("owner.approve"), links.approve))
        actions.append(Link(say("owner.spam"), links.spam))
    if notification.site_url:
        page = page_address(about.path, notification.site_url)
        address = page if is_waiting else notification.post_url
        actions.append(Link(say("owner.open"), address))
    return Letter(
        words.language,
        say(f"owner.subject.{kind}" if is_waiting else "owner.subject", site=site, nick=nick),
        site,
        lines,
        actions[0] if actions else None,
        actions[1:],
        _foot(words, "owner", site, notification.site_url),
    )


def reader_letter(words: Words, notification: Notification, stop: Unsubscribing) -> Letter:
    """About a public reply, to the parent's author."""
    about, parent, say = notification.about, notification.parent, words.say
    assert parent is not None
    nick, site = _nick(words, about), _site(words, notification.site_name)
    page = _page_of(notification)
    foot = _foot(words, "reply", site, notification.site_url)
    if stop.of_thread:
        foot += [Link(say("reply.thread"), stop.of_thread), Link(say("reply.all"), stop.of_all)]
    return Letter(
        words.language,
        say("reply.subject", site=site, nick=nick),
        site,
        [
            say("reply.you", nick=_nick(words, parent), page=page),
            _quote(parent, notification.parent_status, notification.site_url),
            say("reply.they", nick=nick),
            _quote(about, notification.status, notification.site_url),
        ],
        Link(say("reply.read"), notification.post_url) if notification.site_url else None,
        foot=foot,
    )


def digest_letter(words: Words, news: News) -> Letter:
    say, site = words.say, _site(words, news.site_name)
    counted = [say("digest.new", news.number)]
    if news.waiting:
        counted.append(say("digest.waiting", news.waiting))
    lines: list[str | Quote] = [" ".join(counted)]
    for comment in news.samples:
        page = _page(comment, news.site_url, news.titles.get(comment.path, ""))
        text = " ".join(comment.source.split())
        if len(text) > MAX_SAMPLE_CHARACTERS:
            text = f"{text[:MAX_SAMPLE_CHARACTERS]}…"
        lines += [say("digest.by", nick=_nick(words, comment), page=page), Quote(text)]
    lines += [say(f"digest.wave.{w.kind}", w.number, value=_one_line(w.value)) for w in news.waves]
    if rest := news.number - len(news.samples) - sum(wave.number for wave in news.waves):
        lines.append(say("digest.more", rest))
    return Letter(
        words.language,
        say("digest.subject", news.number, site=site),
        site,
        lines,
        Link(say("owner.review"), news.queue_url) if news.queue_url else None,
        foot=_foot(words, "owner", site, news.site_url),
    )


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("://", ":/")


def _nick(words: Words, comment: Comment) -> str:
    # Accounts and comments may be older than the rule for names.
    return shown_name(comment.nick or "") or words.say("nobody")


def _page_of(notification: Notification) -> str:
    return _page(notification.about, notification.site_url, notification.page_title)


def _page(comment: Comment, site_url: str, title: str) -> str:
    """In which no email program finds the address of another host."""
    path = _one_line(page_path(comment.path, site_url))
    return f"{visible(_one_line(title))} ({path})" if title else path


def _site(words: Words, name: str) -> str:
    return " ".join(name.split()) or words.say("yourSite")


def _quote(comment: Comment, status: Status, site_url: str) -> Quote:
    return Quote(comment.source, letter_html(comment, site_url) if status == "approved" else "")


def _foot(words: Words, kind: str, site: str, site_url: str) -> list[str | Link]:
    foot: list[str | Link] = [words.say(f"{kind}.foot", site=site)]
    return [*foot, Link(site, site_url)] if site_url else foot

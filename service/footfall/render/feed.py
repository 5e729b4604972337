"""Feeds of comments: RSS 2.0, Atom (RFC 4287) and JSON Feed 1.1.

What feeds say is decided by the comments alone, so that the same comments make the same bytes.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

# Of a text in a title; comments themselves are whole.
MAX_NAME_CHARACTERS = 100
# What no XML may have (section 2.2 of XML 1.0), though comments may.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Item:
    """A comment in a feed; `at_ms` is when it was written, `html` is safe."""

    id: str
    url: str
    title: str
    author: str
    html: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class Feed:
    """`url` is where the feed is, `home` the page or site that it is of; newest items first."""

    title: str
    url: str
    home: str
    items: Sequence[Item]


def item(comment: Mapping[str, Any], site_url: str) -> Item:
    """Of a comment as answers show it outside its page."""
    nick = _clean(comment["nick"] or "Anonymous")[:MAX_NAME_CHARACTERS]
    return Item(
        comment["objectId"],
        f"{site_url}{_clean(comment['url'])}#{comment['objectId']}",
        f"{nick} commented on {_clean(comment['url'])[:MAX_NAME_CHARACTERS]}",
        nick,
        _clean(comment["comment"]),
        comment["time"],
    )


def rss(feed: Feed) -> bytes:
    made = _made(feed)
    made.link(href=feed.url, rel="self", type="application/rss+xml")
    # feedgen takes the last one for the channel's own.
    made.link(href=feed.home, rel="alternate")
    found: bytes = made.rss_str()
    return found


def atom(feed: Feed) -> bytes:
    made = _made(feed)
    made.link(href=feed.home, rel="alternate")
    made.link(href=feed.url, rel="self", type="application/atom+xml")
    found: bytes = made.atom_str()
    return found


def json(feed: Feed) -> bytes:
    return orjson.dumps(
        {
            "version": "https://jsonfeed.org/version/1.1",
            "title": feed.title,
            "home_page_url": feed.home,
            "feed_url": feed.url,
            "items": [
                {
                    "id": each.id,
                    "url": each.url,
                    "title": each.title,
                    "content_html": each.html,
                    "date_published": _date(each.at_ms).isoformat(),
                    "authors": [{"name": each.author}],
                }
                for each in feed.items
            ],
        }
    )


# Name in queries -> media type and what makes it.
FORMATS: Mapping[str, tuple[bytes, Callable[[Feed], bytes]]] = {
    "rss": (b"application/rss+xml; charset=utf-8", rss),
    "atom": (b"application/atom+xml; charset=utf-8", atom),
    "json": (b"application/feed+json; charset=utf-8", json),
}


def _made(feed: Feed) -> Any:
    from feedgen.feed import FeedGenerator  # loaded by the first feed in XML

    made = FeedGenerator()
    changed = _date(max((each.at_ms for each in feed.items), default=0))
    made.id(feed.url)
    made.title(feed.title)
    made.description(feed.title)
    made.updated(changed)
    made.lastBuildDate(changed)
    made.generator("Footfall")
    for each in feed.items:
        entry = made.add_entry(order="append")
        entry.id(each.url)
        entry.guid(each.id, permalink=False)
        entry.link(href=each.url)
        entry.title(each.title)
        entry.author(name=each.author)
        entry.content(each.html, type="html")
        entry.description(each.html, isSummary=False)
        entry.published(_date(each.at_ms))
        entry.updated(_date(each.at_ms))
    return made


def _date(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms // 1000, UTC)


def _clean(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)

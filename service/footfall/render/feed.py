"""Feeds of comments: RSS 2.0, Atom (RFC 4287) and JSON Feed 1.1.

The content of feeds depends on the comments alone, so that the same comments make the same bytes;
those of an empty feed are the same for a day.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import orjson

from ..markup import shown_name
from .links import with_whole_addresses
from .page_address import page_address

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

GENERATOR = "Footfall"
_ATOM = "{http://www.w3.org/2005/Atom}"
_DC = "{http://purl.org/dc/elements/1.1/}"

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
    """`url` is where the feed is, `home` the page or site that it is of; newest items first.

    `today_ms` is the date of a feed without items."""

    title: str
    url: str
    home: str
    items: Sequence[Item]
    today_ms: int


def item(comment: Mapping[str, Any], site_url: str) -> Item:
    """A feed's item, of a comment as answers show it outside its page."""
    nick = _clean(shown_name(comment["nick"] or "") or "Anonymous")[:MAX_NAME_CHARACTERS]
    page = page_address(comment["url"], site_url)
    return Item(
        comment["objectId"],
        f"{page}#{comment['objectId']}",
        f"{nick} commented on {_clean(comment['url'])[:MAX_NAME_CHARACTERS]}",
        nick,
        with_whole_addresses(_clean(comment["comment"]), page),
        comment["time"],
    )


def rss(feed: Feed) -> bytes:
    root = _xml().Element("rss", version="2.0")
    channel = _sub(root, "channel")
    _add(channel, title=feed.title, link=feed.home, description=feed.title, generator=GENERATOR)
    _sub(channel, f"{_ATOM}link", href=feed.url, rel="self", type="application/rss+xml")
    _add(channel, lastBuildDate=format_datetime(_changed(feed)))
    for each in feed.items:
        item = _sub(channel, "item")
        _add(item, title=each.title, link=each.url, description=each.html)
        _sub(item, "guid", isPermaLink="false").text = each.id
        # RSS's own element for authors takes nothing but email addresses.
        _sub(item, f"{_DC}creator").text = each.author
        _add(item, pubDate=format_datetime(_date(each.at_ms)))
    return _bytes(root)


def atom(feed: Feed) -> bytes:
    # As the default namespace: some readers know no prefix.
    root = _xml().Element("feed", xmlns=_ATOM.strip("{}"))
    _add(root, id=feed.url, title=feed.title, updated=_changed(feed).isoformat())
    _add(root, generator=GENERATOR)
    for rel, address in (("self", feed.url), ("alternate", feed.home)):
        _sub(root, "link", rel=rel, href=address)
    for item in feed.items:
        entry, date = _sub(root, "entry"), _date(item.at_ms).isoformat()
        _add(entry, id=item.url, title=item.title, published=date, updated=date)
        _sub(entry, "link", rel="alternate", href=item.url)
        _add(_sub(entry, "author"), name=item.author)
        _sub(entry, "content", type="html").text = item.html
    return _bytes(root)


def json(feed: Feed) -> bytes:
    return orjson.dumps(
        {
            "version": "https://jsonfeed.org/version/1.1",
            "title": feed.title,
            "home_page_url": feed.home,
            "feed_url": feed.url,
            "items": [
                {
                    "id": item.id,
                    "url": item.url,
                    "title": item.title,
                    "content_html": item.html,
                    "date_published": _date(item.at_ms).isoformat(),
                    "authors": [{"name": item.author}],
                }
                for item in feed.items
            ],
        }
    )


# Name in queries -> media type and what makes it.
FORMATS: Mapping[str, tuple[bytes, Callable[[Feed], bytes]]] = {
    "rss": (b"application/rss+xml; charset=utf-8", rss),
    "atom": (b"application/atom+xml; charset=utf-8", atom),
    "json": (b"application/feed+json; charset=utf-8", json),
}


@cache
def _xml() -> Any:
    from xml.etree import ElementTree  # loaded by the first feed in XML

    ElementTree.register_namespace("atom", _ATOM.strip("{}"))
    ElementTree.register_namespace("dc", _DC.strip("{}"))
    return ElementTree


def _sub(parent: "Element", name: str, **attributes: str) -> "Element":
    element: Element = _xml().SubElement(parent, name, attributes)
    return element


def _add(parent: "Element", /, **texts: str) -> None:
    for name, text in texts.items():
        _sub(parent, name).text = text


def _bytes(root: "Element") -> bytes:
    text: bytes = _xml().tostring(root, encoding="utf-8", xml_declaration=True)
    return text


def _changed(feed: Feed) -> datetime:
    """When the newest comment was written."""
    return _date(max((item.at_ms for item in feed.items), default=feed.today_ms))


def _date(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms // 1000, UTC)


def _clean(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)

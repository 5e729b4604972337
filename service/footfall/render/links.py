"""Links in the HTML of a comment: their number, and pictures as links.

It is read by regular expressions, since the sanitiser has written it: each value is in double
quotes and contains none, and no < in a text is one.
"""

import re
from collections.abc import Iterator
from html import escape, unescape

from .pictures import bare_of

_TAG = re.compile(r'<(/?)(a|audio|img|picture|source|video)((?: [a-z]+="[^"]*")*)>')
_ATTRIBUTE = re.compile(r' ([a-z]+)="([^"]*)"')
_WEB = re.compile(r"https?:", re.IGNORECASE | re.ASCII)
_REL = 'rel="ugc nofollow noreferrer noopener"'


def count_links(html: str) -> int:
    """How many links name a host, be it the site's own, as browsers read them."""
    return sum(1 for _ in linked(html))


def linked(html: str) -> Iterator[str]:
    """The addresses of these links, as browsers read them."""
    for tag in _TAG.finditer(html):
        address = bare_of(_attributes(tag).get("href", "")) if tag[2] == "a" else ""
        if _WEB.match(address):
            yield address


def pictures_as_links(html: str) -> str:
    """The same HTML without anything that loads by itself: loading a picture chosen by a stranger
    would reveal when and from where it is viewed. A picture without a host becomes its alternative
    text."""
    return "".join(_pieces(html))


def _pieces(html: str) -> Iterator[str]:
    end, is_in_link = 0, False
    for tag in _TAG.finditer(html):
        yield html[end : tag.start()]
        end = tag.end()
        if tag[2] == "a":
            is_in_link = not tag[1]
            yield tag[0]
        elif not tag[1]:
            yield _instead(tag, is_in_link)
    yield html[end:]


def _instead(tag: re.Match[str], is_in_link: bool) -> str:
    attributes = _attributes(tag)
    address = bare_of(attributes.get("src", ""))
    if tag[2] == "img" and address.startswith("data:"):
        # It is in the comment itself, so nothing is loaded.
        return tag[0]
    text = escape(attributes.get("alt") or attributes.get("title") or address)
    if is_in_link or not _WEB.match(address):
        return text
    return f'<a href="{escape(address)}" {_REL}>{text}</a>'


def _attributes(tag: re.Match[str]) -> dict[str, str]:
    return {name: unescape(value) for name, value in _ATTRIBUTE.findall(tag[3])}

"""Links in the HTML of a comment: their number, whole addresses, and pictures as links.

It is read by regular expressions, since the sanitiser has written it: each value is in double
quotes and contains none, and no < in a text is one.
"""

import re
from collections.abc import Iterator
from html import escape, unescape
from urllib.parse import urljoin

from .pictures import bare_of

_TAG = re.compile(r'<(/?)(a|audio|img|picture|source|video)((?: [a-z]+="[^"]*")*)>')
_ATTRIBUTE = re.compile(r' ([a-z]+)="([^"]*)"')
_ADDRESS = re.compile(r'( (?:href|poster|src)=)"([^"]*)"')
_WEB = re.compile(r"https?:", re.IGNORECASE | re.ASCII)
# A page's address may have 2,000 characters, and a comment as many links of six.
MAX_ADDED_CHARACTERS = 1 << 16
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


def with_whole_addresses(html: str, page: str) -> str:
    """HTML with whole addresses of links, pictures and players, for where it is shown
    elsewhere than on its page, up to MAX_ADDED_CHARACTERS. Nothing changes if the address of the
    page has no host."""
    left = MAX_ADDED_CHARACTERS

    def joined(attribute: re.Match[str]) -> str:
        nonlocal left
        try:
            whole = f'{attribute[1]}"{escape(urljoin(page, unescape(attribute[2])))}"'
        except ValueError:
            # Half of an IPv6 address.
            return attribute[0]
        left -= len(whole) - len(attribute[0])
        return whole if left >= 0 else attribute[0]

    return _TAG.sub(lambda tag: _ADDRESS.sub(joined, tag[0]), html) if _WEB.match(page) else html


def pictures_as_links(html: str) -> str:
    """HTML without anything that loads by itself: loading a picture chosen by a stranger
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

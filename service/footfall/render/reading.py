"""A comment as its readers read it, for rules about words: without tags, and each character as it
is meant."""

import re
import unicodedata
from collections.abc import Sequence
from html import unescape
from urllib.parse import unquote

from ..markup import is_blank, without_unseen
from .links import linked

# The sanitiser removes these tags with their content; other unknown tags leave their text.
DROPPED = (
    *("iframe", "noembed", "noframes", "noscript", "object", "plaintext", "script", "style"),
    *("svg", "template", "textarea", "title", "xmp"),
)
_DROPPED = re.compile(rf"<(?:{'|'.join(DROPPED)})\b", re.IGNORECASE)
# Between these, words stand apart: other tags may stand within a word.
_APART = re.compile(
    r"</?(?:blockquote|br|center|dd|del|details|div|dl|dt|figcaption|figure|h[1-6]|hr|img|li|ol|p|pre"
    r"|summary|table|tbody|td|tfoot|th|thead|tr|ul)\b[^<>]*>"
)
_TAG = re.compile(r"<[^<>]*>")
_SHOWN = re.compile(r"""<(?:hr\b|(?:audio|img|source|video)\b[^<>]*\ssrc=")""")


def texts_of(source: str, html: str) -> Sequence[str]:
    """The source of a comment, what its readers see of it, and where its links lead. `html` is the
    sanitiser's."""
    seen = unescape(_TAG.sub("", _APART.sub("\n", html))).strip()
    links = sorted({unquote(each) for each in linked(html)})
    return tuple(dict.fromkeys(filter(None, (source, *map(plain, (seen, *links))))))


def names_of(nick: str | None, link: str | None) -> Sequence[str]:
    """An author's name and link."""
    return tuple(plain(unquote(each)) for each in (nick, link) if each)


def plain(text: str) -> str:
    """The text by Unicode's normal form of what looks alike (NFKC), without what does not show."""
    if text.isascii():
        return text
    return without_unseen(unicodedata.normalize("NFKC", text))


def is_cut(html: str) -> bool:
    """Has it something that the sanitiser removes with its content?"""
    return bool(_DROPPED.search(html))


def shows_nothing(html: str) -> bool:
    """Does the HTML of a comment show neither text nor pictures, players or lines?"""
    return not _SHOWN.search(html) and is_blank(unescape(_TAG.sub("", html)))

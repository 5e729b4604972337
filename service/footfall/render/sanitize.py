"""The sanitiser: which HTML a comment may contain, as a table.

It runs last, also on what markdown.py has made, so the table must allow that, too. To sanitise HTML
a second time does not change it.
"""

import re
from collections.abc import Callable
from functools import cache
from html import escape

import nh3

from .listing import CLASSES
from .pictures import ALL_PICTURES, Pictures, has_scheme_of
from .reading import DROPPED

LINK_SCHEMES = {"http", "https", "mailto"}

_SIZE = {"width", "height"}
_CELL = {"align", "colspan", "rowspan"}
_MEDIA = {"controls", "loop", "muted", "poster", "src"} | _SIZE
_PLAIN_TAGS = """
    abbr b bdi bdo blockquote br caption center cite dd del details dfn div dl dt em
    figcaption figure h1 h2 h3 h4 h5 h6 hr i ins kbd li mark p picture pre q rp rt ruby s samp
    small span strike strong sub summary sup table tbody tfoot thead tr tt u ul var wbr
"""
_MATH_TAGS = """
    menclose mfenced mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms
    mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover
"""
# No style, class, href or id: a formula needs none, and those of the page must not apply to it.
_MATH = {
    *("accent", "accentunder", "columnalign", "columnlines", "columnspacing", "displaystyle"),
    *("fence", "form", "largeop", "mathcolor", "mathvariant", "maxsize"),
    *("minsize", "movablelimits", "notation", "rowlines", "rowspacing"),
    *("separator", "stretchy", "symmetric"),
}
# No voffset, by which nested formulas could cover the page; no relative sizes, which add up.
_SPACE = {"depth", "height", "lspace", "rspace", "width"}

ALLOWED: dict[str, set[str]] = {
    **{tag: set() for tag in _PLAIN_TAGS.split()},
    "a": {"href", "title"},
    "abbr": {"title"},
    "audio": _MEDIA,
    "code": {"class"},
    "details": {"open"},
    "div": {"class"},
    "img": {"alt", "class", "src", "title"} | _SIZE,
    "ol": {"start"},
    "source": {"src", "type"},
    "span": {"class"},
    "td": _CELL,
    "th": _CELL,
    "video": _MEDIA,
    **{tag: _MATH for tag in _MATH_TAGS.split()},
    "math": _MATH | {"display"},
    "mo": _MATH | _SPACE,
    "mpadded": _MATH | _SPACE,
    "mspace": _MATH | _SPACE,
}

# With any other class, a comment could look like a part of the page, such as a button or a notice.
_CLASSES = frozenset(CLASSES.values()) - {""} | {"token"}
_LANGUAGE = re.compile(r"language-[\w+#.-]{1,40}", re.ASCII)
# Clients' emoji pickers write these classes, and their stylesheets give them the height of a line.
_EMOJI_CLASSES = frozenset({"wl-emoji", "vemoji", "tk-owo"})
# Short lengths only: a large negative space could move a formula over the page.
_LENGTH = re.compile(r"[+-]?(\d?(\.\d{1,4})?(em|ex)|\d{1,2}(\.\d{1,4})?(px|pt|mu)|0)")
_WORDS = re.compile(r"[\w#%. +-]{0,60}", re.ASCII)

# A tag as nh3 writes it: each value is in double quotes and contains none; in text, < is `&lt;`.
_LEADING = re.compile(r'<(a|audio|video)((?: [a-z]+="[^"]*")*)>')
_ELSEWHERE = ' target="_blank" rel="ugc nofollow noreferrer noopener"'
_UNHURRIED = ' preload="none"'

# Two passes are enough for nearly all HTML: the second one changes nothing.
MAX_PASSES = 6


def clean(html: str, pictures: Pictures = ALL_PICTURES) -> str:
    # Repeated until nothing changes: when a tag is removed, the rest may be parsed differently, and
    # that is how scripts get past sanitisers.
    cleaner = _cleaner(pictures)
    for _ in range(MAX_PASSES):
        previous, html = html, _pass(html, cleaner)
        if html == previous:
            return html
    return _pass(escape(html), cleaner)


def _pass(html: str, cleaner: nh3.Cleaner) -> str:
    return _LEADING.sub(_add_ours, cleaner.clean(html))


def _add_ours(match: re.Match[str]) -> str:
    """Add attributes to a tag; nh3 could add them to all links only, also to those in the page."""
    tag, attributes = match.groups()
    if tag != "a":
        return f"<{tag}{attributes}{_UNHURRIED}>"
    is_elsewhere = ' href="' in attributes and ' href="#' not in attributes
    return f"<a{attributes}{_ELSEWHERE if is_elsewhere else ''}>"


def _filter(pictures: Pictures) -> Callable[[str, str, str], str | None]:
    def filtered(tag: str, attribute: str, value: str) -> str | None:
        if attribute == "class":
            return _classes(tag, value)
        if attribute == "href":
            return value if has_scheme_of(value, *LINK_SCHEMES) else None
        if attribute in ("src", "poster"):
            return pictures.source(tag, attribute, value)
        if tag in _MATHEMATICAL:
            allowed = _LENGTH if attribute in _SPACE else _WORDS
            return value if allowed.fullmatch(value) else None
        return value

    return filtered


def _classes(tag: str, value: str) -> str | None:
    if tag == "img":
        names = [name for name in value.split() if name in _EMOJI_CLASSES]
    else:
        names = [name for name in value.split() if name in _CLASSES or _LANGUAGE.fullmatch(name)]
    return " ".join(names) or None


@cache
def _cleaner(pictures: Pictures) -> nh3.Cleaner:
    return nh3.Cleaner(
        tags=set(ALLOWED),
        # Without this, nh3 allows its default attributes, title and lang, on every tag.
        attributes=ALLOWED | {"*": set()},
        attribute_filter=_filter(pictures),
        clean_content_tags=set(DROPPED),
        link_rel=None,
        # The filter allows `data:` in pictures' addresses only.
        url_schemes=LINK_SCHEMES | {"data"},
    )


_MATHEMATICAL = frozenset(_MATH_TAGS.split()) | {"math"}

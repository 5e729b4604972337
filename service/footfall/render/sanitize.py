"""What HTML a comment may carry, as a table.

Everything passes here last, our own rendering too, so the table must also allow what `markdown`
makes. Sanitised HTML sanitises to itself.
"""

import re
from collections.abc import Callable
from functools import cache
from html import escape

import nh3

from .listing import CLASSES
from .pictures import ALL_PICTURES, Pictures, has_scheme_of

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
# No style, class, href or id: a formula has none of its own, and a page has many.
_MATH = {
    *("accent", "accentunder", "columnalign", "columnlines", "columnspacing", "displaystyle"),
    *("fence", "form", "largeop", "mathcolor", "mathvariant", "maxsize"),
    *("minsize", "movablelimits", "notation", "rowlines", "rowspacing"),
    *("separator", "stretchy", "symmetric"),
}
# No voffset, which nested puts a formula over the page above; no sizes that grow by nesting.
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
    "pre": {"class"},
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
# Dropped with what is in them; any other unknown tag leaves its text behind.
_DROPPED = {
    *("iframe", "noembed", "noframes", "noscript", "object", "plaintext", "script", "style"),
    *("svg", "template", "textarea", "title", "xmp"),
}

# Anything else could take on the look of a part of the page: of its buttons, its notices.
_CLASSES = frozenset(CLASSES.values()) - {""} | {"highlight", "token"}
_LANGUAGE = re.compile(r"language-[\w+#.-]{1,40}", re.ASCII)
# What the clients' emoji pickers write, and their stylesheets make as tall as a line of text.
_EMOJI_CLASSES = frozenset({"wl-emoji", "vemoji", "tk-owo"})
# A tall negative space puts a formula over the rest of the page.
_LENGTH = re.compile(r"[+-]?(\d?(\.\d{1,4})?(em|ex)|\d{1,2}(\.\d{1,4})?(px|pt|mu)|0)")
_WORDS = re.compile(r"[\w#%. +-]{0,60}", re.ASCII)

# As the cleaner writes a tag, with every value in double quotes and none inside them; in text it
# writes `&lt;`.
_LEADING = re.compile(r'<(a|audio|video)((?: [a-z]+="[^"]*")*)>')
_ELSEWHERE = ' target="_blank" rel="ugc nofollow noreferrer noopener"'
_UNHURRIED = ' preload="none"'

# Two are enough for all but the most tangled HTML; the last of them only confirms.
MAX_PASSES = 6


def clean(html: str, pictures: Pictures = ALL_PICTURES) -> str:
    # A tag taken out can leave its neighbours where no parser would put them, and HTML that reads
    # as something else the second time is how scripts get past sanitisers.
    cleaner = _cleaner(pictures)
    for _ in range(MAX_PASSES):
        previous, html = html, _pass(html, cleaner)
        if html == previous:
            return html
    return _pass(escape(html), cleaner)


def _pass(html: str, cleaner: nh3.Cleaner) -> str:
    return _LEADING.sub(_add_ours, cleaner.clean(html))


def _add_ours(found: re.Match[str]) -> str:
    """What the cleaner cannot add itself: not by what a link leads to, not always last."""
    tag, attributes = found.groups()
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
        # Without the star, every tag could have a title and a language.
        attributes=ALLOWED | {"*": set()},
        attribute_filter=_filter(pictures),
        clean_content_tags=_DROPPED,
        link_rel=None,
        # The filter lets `data:` through as the address of a picture alone.
        url_schemes=LINK_SCHEMES | {"data"},
    )


_MATHEMATICAL = frozenset(_MATH_TAGS.split()) | {"math"}

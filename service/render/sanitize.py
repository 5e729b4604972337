"""What HTML a comment may carry, as a table.

Everything passes here last, our own rendering too, so the table must also allow what `markdown`
makes. Sanitised HTML sanitises to itself.
"""

import re
from html import escape

import nh3

from .listing import CLASSES

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
    "img": {"alt", "src", "title"} | _SIZE,
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
# The commentator's reader fetches it: nothing of the page's own site, and nothing inline.
_FETCHED = re.compile(r"https?://", re.IGNORECASE)
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


def clean(html: str) -> str:
    # A tag taken out can leave its neighbours where no parser would put them, and HTML that reads
    # as something else the second time is how scripts get past sanitisers.
    for _ in range(MAX_PASSES):
        previous, html = html, _pass(html)
        if html == previous:
            return html
    return _pass(escape(html))


def _pass(html: str) -> str:
    return _LEADING.sub(_add_ours, _CLEANER.clean(html))


def _add_ours(found: re.Match[str]) -> str:
    """What the cleaner cannot add itself: not by what a link leads to, not always last."""
    tag, attributes = found.groups()
    if tag != "a":
        return f"<{tag}{attributes}{_UNHURRIED}>"
    is_elsewhere = ' href="' in attributes and ' href="#' not in attributes
    return f"<a{attributes}{_ELSEWHERE if is_elsewhere else ''}>"


def _filter(tag: str, attribute: str, value: str) -> str | None:
    if attribute == "class":
        return _classes(value)
    if attribute in ("src", "poster"):
        return value if _FETCHED.match(value) else None
    if tag in _MATHEMATICAL:
        allowed = _LENGTH if attribute in _SPACE else _WORDS
        return value if allowed.fullmatch(value) else None
    return value


def _classes(value: str) -> str | None:
    names = [name for name in value.split() if name in _CLASSES or _LANGUAGE.fullmatch(name)]
    return " ".join(names) or None


_MATHEMATICAL = frozenset(_MATH_TAGS.split()) | {"math"}
_CLEANER = nh3.Cleaner(
    tags=set(ALLOWED),
    # Without the star, every tag could have a title and a language.
    attributes=ALLOWED | {"*": set()},
    attribute_filter=_filter,
    clean_content_tags=_DROPPED,
    link_rel=None,
    url_schemes=LINK_SCHEMES,
)

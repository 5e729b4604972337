"""Makes names, links and URLs safe that published clients write into HTML without escaping, and
that people take for what they see.

Their widget of recent comments writes `<a href="${url}">${nick}</a>`, their list of authors
`<a href="${link}">`: so none of the three may end an attribute, start a tag or run a script. Nor
may a name turn the text around it, or hide a character by which it differs from another one.
"""

import re
from functools import lru_cache
from html import unescape
from unicodedata import category, normalize
from urllib.parse import quote

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
# Browsers ignore some of these characters before or in a scheme.
_INVISIBLE = re.compile(r"[\s\x00-\x20\x7f-\xa0\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+")
_UNSAFE = str.maketrans(
    {'"': "%22", "'": "%27", "<": "%3C", ">": "%3E", "`": "%60"} | {chr(n): None for n in range(32)}
)
_NEVER_IN_A_URL = re.compile(r'[<>"\x00-\x1f\x7f-\x9f\u2028\u2029]')


# What shows nothing: Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt), controls,
# annotations, and two characters that are drawn as blanks.
_UNSEEN = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d159"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_HIDES = re.compile(f"[{_UNSEEN}]")
# Scripts whose letters are written with joiners in between, and emoji.
_JOINED = "\u0600-\u109f\u1780-\u18af\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
# Such characters where they change what is seen: joiners, forms of emoji and of Chinese characters,
# flags of regions.
_SHAPES = (
    f"(?<=[{_JOINED}])[\u200c\u200d](?=[{_JOINED}])"
    "|(?<=[#*0-9\xa9\xae\u2010-\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]"
    "|(?<=[\u1820-\u18aa])[\u180b-\u180d]"
    "|(?<=[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
    "|(?<=\U0001f3f4)[\U000e0020-\U000e007f]+"
)
_KEPT_OR_NOT = re.compile(f"({_SHAPES})|[{_UNSEEN}<>]")
# Line breaks and tabs are blanks; a blank that Braille has is one, too.
_BLANKS = re.compile(r"[\s\u2028\u2029\u2800]+")
# More marks on one letter than any script writes cover the lines around a name.
MAX_MARKS = 4
_MARKS = ("Mn", "Me")


def shown_name(written: str) -> str:
    """The name as it is seen: without < and >, line breaks, characters that show nothing, and those
    that turn the text around them. "" if it shows nothing."""
    shown = _KEPT_OR_NOT.sub(lambda match: match[1] or "", _BLANKS.sub(" ", written))
    name = " ".join(shown.split())
    if name.isascii():
        return name
    return "" if is_blank(name) else _with_few_marks(name)


def _with_few_marks(name: str) -> str:
    kept, marks = list[str](), 0
    for character in name:
        marks = marks + 1 if category(character) in _MARKS else 0
        if marks <= MAX_MARKS:
            kept.append(character)
    return "".join(kept)


def without_unseen(text: str) -> str:
    """The text without the characters that show nothing."""
    return _HIDES.sub("", text)


# Letters of other scripts beside the Latin ones that they are taken for, after Unicode's list of
# confusable characters (UTS 39, confusables.txt), in lower case.
_CONFUSABLE = str.maketrans(
    "\u0430\u03b1\u0251\u0435\u0454\u03bf\u043e\u0585\u0440\u03c1\u0441\u03f2\u0443\u03b3\u0445\u03c7\u0455\u0458\u0501\u04bb\u051b\u051d"
    "\u03bd\u0432\u03b2\u043d\u043a\u03ba\u043c\u03bc\u0442\u03c4\u03b7\u0433\u0578\u057d\u0261\u1d0f0",
    "aaaeeoooppccyyxxsjdhqwvbbhkkmmttnrnugoo",
)
# Of all these the first stands for all: they differ by a line.
_STROKES = re.compile("[il1|!\u0131\u0456\u03b9\u04cf\u2223\u01c0\u0269]")


@lru_cache(1024)
def look_of(name: str) -> str:
    """One text for all names that look alike, as `Admin`, `adm1n` and one with a Cyrillic letter;
    "" for one that shows nothing."""
    parts = normalize("NFKD", without_unseen(name)).casefold()
    letters = "".join(each for each in parts if category(each) not in _MARKS)
    alike = _STROKES.sub("l", letters.translate(_CONFUSABLE)).replace("rn", "m").replace("vv", "w")
    return "".join(alike.split())


def is_blank(text: str) -> bool:
    """Does it show nothing?"""
    return not _HIDES.sub("", text).strip()


def safe_link(text: str) -> str:
    """The address, percent-encoded where needed; "" if it could do more than lead to a page."""
    return text.strip().translate(_UNSAFE) if _only_visits(text) else ""


def is_safe_url(url: str) -> bool:
    """Is this a path or an http(s) address that may be written into an attribute?"""
    return not _NEVER_IN_A_URL.search(url) and _only_visits(url)


def safe_url(url: str) -> str:
    """The URL, made safe if it is not: a backup that somebody has written may bring unsafe ones."""
    if is_safe_url(url):
        return url
    return _NEVER_IN_A_URL.sub("", safe_link(url) or "/" + url.translate(_UNSAFE))


def _only_visits(text: str) -> bool:
    if text.startswith("/"):
        # A path has no scheme.
        return True
    # A browser decodes entities in an attribute before it reads the scheme.
    for reading in (text, unescape(text)):
        bare = _INVISIBLE.sub("", reading)
        scheme = _SCHEME.match(bare)
        if scheme and scheme[1].lower() not in ("http", "https") and not _is_port(bare, scheme):
            return False
    return True


def _is_port(text: str, scheme: re.Match[str]) -> bool:
    """`example.com:8080` is a host and a port: no scheme in use contains a dot."""
    return "." in scheme[1] and text[scheme.end() : scheme.end() + 1].isdigit()


# Control and format characters, including those that reverse text; halves of surrogate pairs; line
# separators.
_ENCODED = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def visible(text: str) -> str:
    """The text with each character that shows nothing, or reorders others, percent-encoded.

    Two names that differ in such characters alone look different then, and none can look like
    another one's end. What it returns is not HTML yet.
    """
    if text.isprintable():
        return text
    return "".join(
        quote(character, errors="replace") if category(character) in _ENCODED else character
        for character in text
    )


def shortened(text: str, most: int) -> str:
    """At most this many characters, 3 at least: of a longer text its start and its end."""
    if len(text) <= most:
        return text
    end = (most - 1) // 3
    return f"{text[: most - 1 - end]}\N{HORIZONTAL ELLIPSIS}{text[-end:] if end else ''}"

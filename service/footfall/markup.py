"""Makes nicks, links and URLs safe that published clients write into HTML without escaping.

Their widget of recent comments writes `<a href="${url}">${nick}</a>`, their list of authors
`<a href="${link}">`: so none of the three may end an attribute, start a tag or run a script.
"""

import re
from html import unescape
from unicodedata import category
from urllib.parse import quote

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
# Browsers ignore some of these characters before or in a scheme.
_INVISIBLE = re.compile(r"[\s\x00-\x20\x7f-\xa0\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+")
_UNSAFE = str.maketrans(
    {'"': "%22", "'": "%27", "<": "%3C", ">": "%3E", "`": "%60"} | {chr(n): None for n in range(32)}
)
_NO_TAGS = str.maketrans("", "", "<>")
_NEVER_IN_A_URL = re.compile(r'[<>"\x00-\x1f\x7f-\x9f\u2028\u2029]')


def safe_nick(nick: str) -> str:
    """The nick without < and >."""
    return nick.translate(_NO_TAGS)


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
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def visible(text: str) -> str:
    """The text with each character that shows nothing, or reorders others, percent-encoded.

    Two names that differ in such characters alone look different then, and none can look like
    another one's end. What it returns is not HTML yet.
    """
    if text.isprintable():
        return text
    return "".join(
        quote(character, errors="replace") if _is_unseen(character) else character
        for character in text
    )


def _is_unseen(character: str) -> bool:
    return category(character) in _UNSEEN


def shortened(text: str, most: int) -> str:
    """At most this many characters, 3 at least: of a longer text its start and its end."""
    if len(text) <= most:
        return text
    end = (most - 1) // 3
    return f"{text[: most - 1 - end]}\N{HORIZONTAL ELLIPSIS}{text[-end:] if end else ''}"

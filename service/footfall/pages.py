"""The path by which a page is counted, however a client spells it.

Clients of one site send `/2020/%E4%BD%A0/` and `/2020/你/` for the same page. Further rules are the
operator's choice (PATHS), since on some sites `/a` and `/a/` are two pages.
"""

import re
from collections.abc import Callable, Collection

# ECMAScript's reserved characters and "#", which decodeURI leaves encoded: ; / ? : @ & = + $ , #
_RESERVED = re.compile(r"(%(?:3B|2F|3F|3A|40|26|3D|2B|24|2C|23))", re.IGNORECASE)
_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_BROKEN = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HOST = re.compile(r"(?:https?:)?//[^/?#]*", re.IGNORECASE)
_INDEX = re.compile(r"/index\.html?/?(?=$|[?#])", re.IGNORECASE)
_SLASH = re.compile(r"(?<=[^/])/(?=$|[?#])")
# What others write into links to know where a visit came from, as GoatCounter's count.js knows it.
_TRACKING = re.compile(
    r"(?:(?:fbclid|gclid|mc_cid|mc_eid|ref|isappinstalled|nsukey|utm_\w+|__cf_chl_\w+)(?:=.*)?"
    r"|from=(?:singlemessage|groupmessage))",
    re.DOTALL,
)


def decode_uri(text: str) -> str:
    """decodeURI (ECMA-262, section 19.2.6); a text that it rejects is unchanged."""
    if "%" not in text or _BROKEN.search(text):
        return text
    try:
        return _ESCAPES.sub(_decoded, text)
    except UnicodeDecodeError:
        return text


def _decoded(escapes: re.Match[str]) -> str:
    parts = _RESERVED.split(escapes[0])
    # Every second one is reserved.
    parts[::2] = [bytes.fromhex(part.replace("%", "")).decode() for part in parts[::2]]
    return "".join(parts)


def without_host(text: str) -> str:
    host = _HOST.match(text)
    # The rest starts with one slash, or its start would be read as a host again.
    return "/" + text[host.end() :].lstrip("/") if host else text


def without_index(text: str) -> str:
    return _INDEX.sub("/", text, count=1)


def without_slash(text: str) -> str:
    return _SLASH.sub("", text, count=1)


def without_tracking(text: str) -> str:
    """Without parameters of tracking; the others stay in their order."""
    path, _, query = text.partition("?")
    sent = query.split("&")
    kept = [each for each in sent if not _TRACKING.fullmatch(each)]
    if kept == sent:
        return text
    return f"{path}?{'&'.join(kept)}" if any(kept) else path


def without_query(text: str) -> str:
    return text.partition("?")[0] or text


# In this order, whatever the order in PATHS.
RULES: dict[str, Callable[[str], str]] = {
    "host": without_host,
    "tracking": without_tracking,
    "query": without_query,
    "index": without_index,
    "slash": without_slash,
}


class PageNames:
    """Maps a client's path to the path by which a page is counted."""

    def __init__(self, rules: Collection[str] = ()) -> None:
        self._rules = [RULES[name] for name in RULES if name in rules]

    def of(self, path: str) -> str:
        """The path by which a page is counted."""
        if "%" in path or "?" in path:
            path = without_tracking(decode_uri(path))
        for rule in self._rules:
            path = rule(path)
        return path

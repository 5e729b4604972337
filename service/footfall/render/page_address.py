"""The address of a page that a stranger has named: a path of the site, never another host.

Any text may name a page, since themes choose keys of their own. Every link to a page is made here.
"""

import re
from urllib.parse import quote

_ADDRESS = re.compile(r"(https?)://([^/?#\\]*)(.*)", re.DOTALL | re.IGNORECASE)
_PARTS = re.compile(r"([^?#]*)(.*)", re.DOTALL)
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
# Browsers have resolved these segments before they name a page; in a link they would leave the
# folder that the site is in.
_DOTS = re.compile(r"(?<![^/])(?:\.|%2e){1,2}(?![^/])", re.IGNORECASE)
_HALF_PAIR = re.compile("[\ud800-\udfff]")
# A percent sign that encodes nothing.
_BARE_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")
_NO_LETTER = re.compile(r"[^A-Za-z0-9/?#%:@!$&'()*+,;=._~\[\]-]")


def page_address(name: str, site_url: str) -> str:
    """The address of the page with this name, below `site_url`; if that is "", a path."""
    path = _BARE_PERCENT.sub("%25", page_path(name, site_url))
    return site_url.rstrip("/") + _NO_LETTER.sub(_encoded, path)


def page_path(name: str, site_url: str) -> str:
    """A page's address without the site, as people read it; it starts with one slash."""
    name = _HALF_PAIR.sub("\ufffd", _below(name, site_url.rstrip("/")))
    path, rest = _PARTS.fullmatch(name).groups()  # type: ignore[union-attr]
    return "/" + _DOTS.sub("", path).lstrip("/") + rest


def _below(name: str, site: str) -> str:
    """What follows the site in its own page's whole address; any other name as it is."""
    own, other = _ADDRESS.fullmatch(site), _ADDRESS.fullmatch(name)
    if not own or not other or _host(own) != _host(other):
        return name
    rest = other[3].removeprefix(own[3])
    is_below = other[3].startswith(own[3]) and (not rest or rest[0] in "/?#")
    return rest if is_below else name


def _host(address: re.Match[str]) -> str:
    """Host and port. The scheme does not count: a site may have changed to HTTPS."""
    return address[2].lower().removesuffix(_DEFAULT_PORTS[address[1].lower()])


def _encoded(match: re.Match[str]) -> str:
    """Letters of other scripts stay, since the addresses of feeds' entries have them."""
    letter = match[0]
    return letter if letter > "\x7f" and letter.isprintable() else quote(letter)

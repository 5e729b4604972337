"""Fetch metadata: how browsers describe what caused a request (Sec-Fetch-*).

Any page can make its readers' browsers request a picture here, or send a form. Older browsers, and
all of them without HTTPS, send less: then Origin, which comes with every form, and Accept decide.
"""

from ..errors import Forbidden
from .client import Headers, host_of

_READING = ("GET", "HEAD")
# What Accept starts with where a browser loads a part of a page.
_PARTS = (b"image/", b"video/", b"audio/", b"text/css")


def is_sent_elsewhere(method: str, headers: Headers) -> bool:
    """May a page of another site have made the browser send this, or a picture of a comment?

    What comes from no browser does not: it has no such page.
    """
    if site := headers.get(b"sec-fetch-site"):
        is_script = headers.get(b"sec-fetch-dest", b"empty") == b"empty"
        return site not in (b"same-origin", b"none") or not is_script
    if origin := headers.get(b"origin"):
        host = f"http://{headers.get(b'host', b'').decode('latin-1')}"
        return host_of(origin.decode("latin-1")) != host_of(host)
    return method in _READING


def require_no_part(headers: Headers) -> None:
    """Raises Forbidden where a page would load this as a picture, a frame or a script."""
    kind = headers.get(b"sec-fetch-dest")
    is_part = headers.get(b"accept", b"").startswith(_PARTS)
    if kind not in (b"document", b"empty") if kind else is_part:
        raise Forbidden("Forbidden: this cannot be loaded as a part of a page")


def require_navigation(headers: Headers) -> None:
    """Raises Forbidden unless it is a navigation, as far as the browser reports it."""
    require_no_part(headers)
    if headers.get(b"sec-fetch-mode", b"navigate") != b"navigate":
        raise Forbidden("Forbidden: a browser has to go to this address")

"""The pages on which people log in, register, and set a password.

A log-in is handed to the page that asked for it: the one that opened this page, or that it is to
come back to. Which that may be is decided here, by the Referer that browsers send and by
SECURE_DOMAINS, so that no other site gets a token by opening this page.
"""

import html
import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from ..http.client import headers_of, is_allowed, is_own_page
from ..http.params import MAX_LINK, parse_query
from ..http.policy import Policy
from .site import TYPES, UI, Page, Static, send_file

# A page on which passwords are typed is in no frame, and tells no other site of itself.
PRIVATE = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"referrer-policy", b"same-origin"),
)
_HOST = re.compile(r"[a-z0-9.:_-]{1,253}")
FILES = ("account.css", "forgot.js", "login.js")


class LogIn:
    """The page to log in and register on, as an ASGI application."""

    def __init__(self, policy: Policy, values: Mapping[str, str]) -> None:
        self._template = (UI / "login.html").read_text()
        self._policy = policy
        self._site_name = values["site_name"]
        self._site = origin_of(values["site_url"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        opener = self._opener(headers_of(scope["headers"]))
        query = parse_query(scope["query_string"][:MAX_LINK])
        back = str(query.get("redirect", ""))
        values = {
            "opener": opener,
            "return": back if opener and origin_of(back) == opener else "",
            "site_name": self._site_name,
        }
        body = re.sub(
            r"\{\{(\w+)\}\}", lambda found: html.escape(values[found[1]]), self._template
        ).encode()
        await send_file(scope, send, body, TYPES[".html"], b"no-store", PRIVATE)

    def _opener(self, headers: Mapping[bytes, bytes]) -> str:
        """The origin that a log-in may be handed to; "" for none.

        Where the browser does not say which page it comes from, it is SITE_URL's.
        """
        referer = headers.get(b"referer", b"").decode("latin-1")
        if not referer:
            return self._site
        policy = self._policy
        may_call = is_allowed(headers, policy.domains) or is_own_page(headers, policy)
        return origin_of(referer) if may_call else ""


def origin_of(address: str) -> str:
    """Scheme, host and port of an http(s) address; "" for anything else."""
    try:
        parts = urlsplit(address)
        has_port = parts.port is not None
    except ValueError:
        return ""
    # As browsers write it, who send names of other scripts in punycode.
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(parts.hostname or ""):
        return ""
    host = f"[{parts.hostname}]" if "[" in parts.netloc else parts.hostname
    return f"{parts.scheme}://{host}:{parts.port}" if has_port else f"{parts.scheme}://{host}"


def account_routes(policy: Policy, values: Mapping[str, str]) -> Iterator[BaseRoute]:
    log_in = LogIn(policy, values)
    yield Route("/ui/login", Page(log_in))
    yield Route("/ui/register", Page(log_in))
    yield Route("/ui/forgot", Page(Static("forgot.html", extra=PRIVATE)))
    for name in FILES:
        yield Route(f"/ui/static/{name}", Page(Static(name)))

"""The pages at /ui: log in, register, set a password, and the rooms of those who are logged in.

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
from ..http.response import Response
from .endpoint import send_answer
from .site import TYPES, UI, Page, Static, send_file

# Such a page is in no frame, and tells no other site of itself. Pictures of comments are not shown.
PRIVATE = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        b"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"referrer-policy", b"same-origin"),
)
_HOST = re.compile(r"[a-z0-9.:_-]{1,253}")
PAGES = UI / "admin"
# Beside the pages' own; the demonstration's sheet is theirs, too.
SHARED = ("comment_view.js", "demo.css", "favicon.svg")
# The page's module of the same name decides who may enter; `queue` has no name.
ROOMS = ("accounts", "profile")


class Template:
    """A page of ours as an ASGI application, with what it has to know of this request."""

    def __init__(self, name: str, policy: Policy, values: Mapping[str, str]) -> None:
        self._template = (PAGES / name).read_text()
        self._policy = policy
        self._values = values
        self._site = origin_of(values["site_url"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        opener = self._opener(headers_of(scope["headers"]))
        query = parse_query(scope["query_string"][:MAX_LINK])
        back = str(query.get("redirect", ""))
        values = {
            **self._values,
            "opener": opener,
            "return": back if opener and origin_of(back) == opener else "",
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


async def into_the_folder(scope: Scope, receive: Receive, send: Send) -> None:
    """From /ui to /ui/, since the page's links are relative."""
    query = b"?" + scope["query_string"] if scope["query_string"] else b""
    await send_answer(send, Response(307, b"", [(b"location", b"ui/" + query)]))


def account_routes(policy: Policy, values: Mapping[str, str]) -> Iterator[BaseRoute]:
    log_in = Template("login.html", policy, values)
    rooms = Template("admin.html", policy, values)
    yield Route("/ui", Page(into_the_folder))
    for name in ("", *ROOMS):
        yield Route(f"/ui/{name}", Page(rooms))
    yield Route("/ui/login", Page(log_in))
    yield Route("/ui/register", Page(log_in))
    yield Route("/ui/forgot", Page(Static("admin/forgot.html", extra=PRIVATE)))
    files = [f"admin/{path.name}" for path in PAGES.iterdir() if path.suffix != ".html"]
    for file in (*SHARED, *files):
        yield Route(f"/ui/static/{file.removeprefix('admin/')}", Page(Static(file)))

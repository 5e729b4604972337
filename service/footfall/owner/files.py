"""Files that browsers load: the demonstration page, its assets, and the scripts for sites.

They are read once at start and sent with an ETag. The demonstration page is a template: it gets a
few settings, HTML-escaped, and of the request only its Host.
"""

import html
import re
from collections.abc import Collection, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path

from starlette.responses import RedirectResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import WrongMethod
from ..http.client import headers_of, service_url
from ..http.policy import Policy
from ..http.response import Headers
from ..table.endpoint import READING
from ..table.sending import answer_options, send_failure

UI = Path(__file__).parents[1] / "ui"

# The page shows comments of strangers. They are sanitised; this policy is a second safeguard.
SECURITY = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'",
    ),
    (b"referrer-policy", b"strict-origin-when-cross-origin"),
)
TYPES = {
    ".css": b"text/css; charset=utf-8",
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".json": b"application/json; charset=utf-8",
    ".svg": b"image/svg+xml",
}
# Sites include these scripts in every page: browsers keep them for an hour, then ask with the ETag.
SNIPPET_CACHE = b"public, max-age=3600"
# By the protocol of another counter: our own script at the paths of theirs, which sites have in
# their themes' settings. These are kept for a day.
COMPAT_SCRIPTS = {
    "busuanzi": (
        "busuanzi.js",
        ("/busuanzi/2.3/busuanzi.pure.mini.js", "/js", "/js/lite", "/js/lite_pjax", "/js/jsonp"),
    )
}
COMPAT_CACHE = b"public, max-age=86400"


class Static:
    """One file, as an ASGI application; `before` is another one in front of it."""

    def __init__(
        self, name: str, cache: bytes = b"no-cache", extra: Headers = (), before: str = ""
    ) -> None:
        self._body = b"".join([(UI / file).read_bytes() for file in (before, name) if file])
        self._type = TYPES[Path(name).suffix]
        self._cache = cache
        self._extra = extra

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_file(scope, send, self._body, self._type, self._cache, self._extra)


class Demo:
    """The demonstration page as an ASGI application, with the site's name and addresses."""

    def __init__(self, policy: Policy, values: Mapping[str, str]) -> None:
        self._template = (UI / "demo.html").read_text()
        self._policy = policy
        self._values = values

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        values = dict(self._values)
        values["server_url"] = service_url(scope, self._policy)
        values["forum"] = "" if values["forum_url"] else "hidden"
        body = filled(self._template, values)
        await send_file(scope, send, body, TYPES[".html"], b"no-cache", SECURITY)


def filled(template: str, values: Mapping[str, str]) -> bytes:
    """With the values of the names in {{braces}}, escaped for HTML."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: html.escape(values[match[1]]), template).encode()


async def send_file(
    scope: Scope,
    send: Send,
    body: bytes,
    type: bytes,
    cache: bytes,
    extra: Headers = (),
    *,
    status: int = 200,
) -> None:
    tag = b'"' + blake2b(body, digest_size=8).hexdigest().encode() + b'"'
    is_known = status == 200 and tag in headers_of(scope["headers"]).get(b"if-none-match", b"")
    headers = [
        (b"content-type", type),
        (b"cache-control", cache),
        (b"etag", tag),
        (b"x-content-type-options", b"nosniff"),
        # Sites may include the script with the attribute `crossorigin`.
        (b"access-control-allow-origin", b"*"),
        *extra,
    ]
    if not is_known:
        headers.append((b"content-length", b"%d" % len(body)))
    has_body = not is_known and scope["method"] != "HEAD"
    await send(
        {"type": "http.response.start", "status": 304 if is_known else status, "headers": headers}
    )
    await send({"type": "http.response.body", "body": body if has_body else b""})


class Page:
    """Wraps an application that only reads: answers preflights, refuses other methods.

    `route` is its name in metrics.
    """

    def __init__(self, app: ASGIApp, route: str = "page") -> None:
        self._app = app
        self._route = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["counted_as"] = self._route
        if scope["method"] == "OPTIONS":
            await answer_options(headers_of(scope["headers"]), "GET, HEAD, OPTIONS", send)
        elif scope["method"] in READING:
            await self._app(scope, receive, send)
        else:
            await send_failure(scope, send, WrongMethod("GET, HEAD, OPTIONS"))


def page_routes(
    policy: Policy, values: Mapping[str, str], compat: Collection[str] = ()
) -> Iterator[BaseRoute]:
    """The scripts for sites, those in place of other counters' scripts if the site speaks their
    protocols, and the demonstration page unless DEMO=false."""
    snippets = ("count.js", "top.js")
    pages: dict[str, ASGIApp] = {f"/{name}": Static(name, SNIPPET_CACHE) for name in snippets}
    if "goatcounter" in compat:
        # Pages that have its script count by a script of this name, too.
        pages["/count.js"] = Static("count.js", SNIPPET_CACHE, before="goatcounter.js")
    for protocol, (name, paths) in COMPAT_SCRIPTS.items():
        if protocol in compat:
            pages |= dict.fromkeys(paths, Static(name, COMPAT_CACHE))
    if policy.shows_demo:
        demo = Demo(policy, values)
        # The page's links are relative, and would lead nowhere from /api/.
        redirect = RedirectResponse("../api", headers={"x-content-type-options": "nosniff"})
        pages |= {"/": demo, "/api": demo, "/api/": redirect}
        files = ("comment_view.js", "demo.css", "demo.js", "favicon.svg")
        pages |= {f"/static/{name}": Static(name) for name in files}
    for path, app in pages.items():
        yield Route(path, Page(app, "static" if isinstance(app, Static) else "page"))

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
from ..http.client import headers_of
from ..http.response import Headers
from ..table.rows import READING
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
# Sites include these scripts in every page: browsers cache them for an hour, then revalidate with
# the ETag.
SNIPPET_CACHE = b"public, max-age=3600"
# By the protocol of another counter: our own script at the paths of theirs, which sites have in
# their themes' settings. These are cached for a day.
COMPAT_SCRIPTS = {
    "busuanzi": (
        "busuanzi.js",
        ("/busuanzi/2.3/busuanzi.pure.mini.js", "/js", "/js/lite", "/js/lite_pjax", "/js/jsonp"),
    )
}
COMPAT_CACHE = b"public, max-age=86400"


class Content:
    """A file with this content, as an ASGI application; `ending` is that of its name."""

    def __init__(
        self, content: bytes, ending: str, cache: bytes = b"no-cache", extra: Headers = ()
    ) -> None:
        self._content = content
        self._type = TYPES[ending]
        self._cache = cache
        self._extra = extra

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_file(scope, send, self._content, self._type, self._cache, self._extra)


def static(name: str, cache: bytes = b"no-cache", extra: Headers = (), before: str = "") -> Content:
    """A file of ours; `before` is another one in front of it."""
    content = b"".join([(UI / file).read_bytes() for file in (before, name) if file])
    return Content(content, Path(name).suffix, cache, extra)


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
    """Wraps an application: answers preflights, rejects all methods but those that read.

    `route` is its name in metrics.
    """

    def __init__(
        self, app: ASGIApp, route: str = "page", methods: Collection[str] = READING
    ) -> None:
        self._app = app
        self._route = route
        self._methods = methods
        self._allowed = ", ".join((*methods, "OPTIONS"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["counted_as"] = self._route
        if scope["method"] == "OPTIONS":
            await answer_options(headers_of(scope["headers"]), self._allowed, send)
        elif scope["method"] in self._methods:
            await self._app(scope, receive, send)
        else:
            await send_failure(scope, send, WrongMethod(self._allowed))


def page_routes(compat: Collection[str] = (), demo: ASGIApp | None = None) -> Iterator[BaseRoute]:
    """The scripts for sites, those in place of other counters' scripts if the site speaks their
    protocols, and the demonstration page, if there is one."""
    snippets = ("count.js", "top.js")
    files: dict[str, ASGIApp] = {f"/{name}": static(name, SNIPPET_CACHE) for name in snippets}
    if "goatcounter" in compat:
        # Pages that have its script count by a script of this name, too.
        files["/count.js"] = static("count.js", SNIPPET_CACHE, before="goatcounter.js")
    for protocol, (name, paths) in COMPAT_SCRIPTS.items():
        if protocol in compat:
            files |= dict.fromkeys(paths, static(name, COMPAT_CACHE))
    if demo:
        page = Page(demo, methods=(*READING, "POST"))
        yield from (Route(path, page) for path in ("/", "/api"))
        # The page's links are relative, and would lead nowhere from /api/.
        redirect = RedirectResponse("../api", headers={"x-content-type-options": "nosniff"})
        yield Route("/api/", Page(redirect))
        names = ("comment_view.js", "demo.css", "demo.js", "favicon.svg")
        files |= {f"/static/{name}": static(name) for name in names}
    for path, file in files.items():
        yield Route(path, Page(file, "static"))

"""The pages at /ui: log in, register, set a password, confirm a mail, and those behind a log-in.

A log-in is handed to the page that asked for it: the one that opened this page, or that it is to
come back to. Which that may be is decided here, by the Referer that browsers send and by
SECURE_DOMAINS, so that no other site gets a token by opening this page.
"""

from collections.abc import Iterator, Mapping

import orjson
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from ..domain.service import Service
from ..http.client import headers_of, is_allowed, is_own_page
from ..http.params import MAX_LINK, parse_query
from ..http.policy import Policy
from ..http.response import Response
from ..outside.targets import origin_of
from .endpoint import send_answer
from .site import TYPES, UI, Page, Static, filled, send_file

# Such a page is in no frame, and tells no other site of itself. Pictures of comments are not shown.
PRIVATE = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        b"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"referrer-policy", b"same-origin"),
)
PAGES = UI / "admin"
# Beside the pages' own; the demonstration's sheet is theirs, too.
SHARED = ("comment_view.js", "demo.css", "favicon.svg")
# How long the first reader of such a page may wait for the names of other services.
LIST_SECONDS = 0.5
# The page's module of the same name decides who may enter; `queue` has no name.
PAGE_NAMES = (
    "accounts",
    "authors",
    "bans",
    "counters",
    "log",
    "moving",
    "outbox",
    "profile",
    "settings",
    "state",
)


class Template:
    """A page of ours as an ASGI application, with what it has to know of this request."""

    def __init__(
        self, name: str, policy: Policy, values: Mapping[str, str], service: Service
    ) -> None:
        self._template = (PAGES / name).read_text()
        self._policy = policy
        self._values = values
        self._service = service
        self._providers = service.providers
        self._site = origin_of(values["site_url"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        query = parse_query(scope["query_string"][:MAX_LINK])
        opener = self._opener(headers_of(scope["headers"]), str(query.get("for", "")))
        back = str(query.get("redirect", ""))
        values = {
            **self._values,
            "opener": opener,
            "return": back if opener and origin_of(back) == opener else "",
            "vacant": "true" if await self._is_vacant() else "",
            "mails": "true" if self._service.account_mails.are_sent else "",
            "services": orjson.dumps(await self._services(opener)).decode(),
        }
        body = filled(self._template, values)
        await send_file(scope, send, body, TYPES[".html"], b"no-store", PRIVATE)

    async def _is_vacant(self) -> bool:
        """Would whoever registers here now be the administrator?"""
        if "{{vacant}}" not in self._template:
            return False
        is_open = self._service.account_rules.registration != "closed"
        return is_open and await self._service.accounts.lacks_administrator()

    async def _services(self, opener: str) -> dict[str, str]:
        """By whom one may log in here, and what they are called.

        None, for a page that nobody has named in the settings: such a log-in asks no question, so
        any page that opens this one would be handed it.
        """
        if opener and not self._providers.targets.may_be_told(opener):
            return {}
        names = await self._providers.names(LIST_SECONDS)
        return {name: self._providers.label(name) for name in names}

    def _opener(self, headers: Mapping[bytes, bytes], named: str) -> str:
        """The origin that a log-in may be handed to; "" for none.

        Where the browser does not say which page it comes from, it is SITE_URL's. Who comes back
        from another service names the page, if it is one of the settings'.
        """
        if self._providers.targets.may_be_told(named):
            return named
        referer = headers.get(b"referer", b"").decode("latin-1")
        if not referer:
            return self._site
        policy = self._policy
        may_call = is_allowed(headers, policy.domains) or is_own_page(headers, policy)
        return origin_of(referer) if may_call else ""


async def into_the_folder(scope: Scope, receive: Receive, send: Send) -> None:
    """From /ui to /ui/, since the page's links are relative."""
    query = b"?" + scope["query_string"] if scope["query_string"] else b""
    await send_answer(send, Response(307, b"", [(b"location", b"ui/" + query)]))


def account_routes(
    policy: Policy, values: Mapping[str, str], service: Service
) -> Iterator[BaseRoute]:
    log_in = Template("login.html", policy, values, service)
    pages = Template("admin.html", policy, values, service)
    yield Route("/ui", Page(into_the_folder))
    for name in ("", *PAGE_NAMES):
        yield Route(f"/ui/{name}", Page(pages))
    yield Route("/ui/login", Page(log_in))
    yield Route("/ui/register", Page(log_in))
    yield Route("/ui/forgot", Page(Template("forgot.html", policy, values, service)))
    yield Route("/ui/confirm", Page(Static("admin/confirm.html", extra=PRIVATE)))
    files = [f"admin/{path.name}" for path in PAGES.iterdir() if path.suffix != ".html"]
    for file in (*SHARED, *files):
        yield Route(f"/ui/static/{file.removeprefix('admin/')}", Page(Static(file)))

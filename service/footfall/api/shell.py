"""The reference's admin front-end at /ui, in place of ours, where an operator says its address.

It is another site's script: it runs with all that an administrator may, so the page lets it load
nothing from anywhere else. It logs in by tokens, and keeps them itself; shell.js lets it tell only
pages that may know of a log-in.
"""

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

import orjson
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from ..domain.captcha import Captcha
from ..domain.site import Site
from ..http.client import server_address
from ..http.policy import Policy
from ..http.response import Headers
from ..outside.providers import Providers
from ..outside.targets import origin_of
from . import captcha_page
from .account_pages import PAGE_NAMES as OUR_PAGE_NAMES
from .opener import opener_of
from .site import TYPES, UI, Page, filled, send_file

# How long a page may wait for the names of other services.
LIST_SECONDS = 0.5
# The pages of that front-end, as their addresses name them.
PAGE_NAMES = ("login", "register", "user", "migration")


def rules(asset: str, captcha: Captcha) -> Headers:
    """Scripts from here and from the asset's origin alone. The front-end writes styles of its own
    into the page, and shows pictures from wherever they are."""
    origin = origin_of(asset)
    policy = (
        f"default-src 'none'; script-src 'self' {origin}; connect-src 'self' {origin}; "
        f"style-src 'self' 'unsafe-inline' {origin}; font-src {origin} data:; "
        "img-src https: http: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    lines = ((b"content-security-policy", policy.encode()), (b"referrer-policy", b"same-origin"))
    return captcha_page.permitting(lines, captcha)


class Shell:
    """The page as an ASGI application."""

    def __init__(
        self,
        asset: str,
        policy: Policy,
        values: Mapping[str, str],
        providers: Providers,
        captcha: Captcha,
    ) -> None:
        self._template = (UI / "admin/shell.html").read_text()
        self._values = {**values, "asset": asset, "captcha": captcha_page.described(captcha)}
        self._rules = rules(asset, captcha)
        self._policy = policy
        self._providers = providers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        server = self._policy.server_url or server_address(scope, self._policy)
        services = [{"name": name} for name in await self._providers.names(LIST_SECONDS)]
        values = {
            **self._values,
            **opener_of(scope, self._policy, self._providers.targets).values,
            "server_url": server,
            "folder": urlsplit(server).path + "/ui",
            "services": orjson.dumps(services).decode(),
        }
        body = filled(self._template, values)
        await send_file(scope, send, body, TYPES[".html"], b"no-store", self._rules)


def shell_routes(
    asset: str, policy: Policy, values: Mapping[str, str], site: Site
) -> Iterator[BaseRoute]:
    """None without an asset. What is left of ours behind them sets passwords, by links."""
    if not asset:
        return
    shell = Page(Shell(asset, policy, values, site.providers, site.captcha))
    for path in ("", "/", *(f"/{name}" for name in (*PAGE_NAMES, *OUR_PAGE_NAMES))):
        yield Route(f"/ui{path}", shell)

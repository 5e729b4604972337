"""Which page has opened one of ours, and what it may receive.

A login, or a changed profile, is handed to the site that the settings name, whatever the Referer
is. If they name none, the reader is asked first, with the page's name.
"""

from dataclasses import dataclass, replace

from starlette.types import Scope

from ..http.client import headers_of, server_address
from ..http.policy import Policy
from ..outside.targets import Targets, origin_of


@dataclass(frozen=True, slots=True)
class Opener:
    """`origin` may receive a login, after a question if `asks`; `refused` may not."""

    origin: str = ""
    asks: bool = False
    refused: str = ""

    @property
    def values(self) -> dict[str, str]:
        """For a page's template."""
        asks = "true" if self.asks else ""
        return {"opener": self.origin, "asks": asks, "refused": self.refused}


def opener_of(scope: Scope, policy: Policy, targets: Targets, named: str = "") -> Opener:
    """The page that the browser comes from; SITE_URL's, without a Referer.

    On return from another service, the address names the page, if it is one of the settings'.
    Browsers deliver a message to no other page than the one it is addressed to.
    """
    if not targets.server_url:
        targets = replace(targets, server_url=server_address(scope, policy))
    if targets.may_be_told(named):
        return Opener(named)
    referer = headers_of(scope["headers"]).get(b"referer", b"").decode("latin-1")
    if not referer:
        return Opener(origin_of(targets.site_url))
    origin = origin_of(referer)
    if targets.may_be_told(origin):
        return Opener(origin)
    return Opener(refused=origin) if targets.names_any else Opener(origin, asks=bool(origin))

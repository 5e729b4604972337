"""The settings that http/ itself needs: which proxies it trusts, and which sites may call."""

from dataclasses import dataclass

from ..netaddr import Proxies
from ..patterns import Domain


@dataclass(frozen=True, slots=True)
class Policy:
    """Any site may call if `domains` is empty; `connections` is the maximum of open ones.

    Requests that take longer than `slow_seconds` are logged; 0 turns that off.
    """

    proxies: Proxies = Proxies()
    domains: tuple[Domain, ...] = ()
    connections: int = 10_000
    slow_seconds: float = 0.0
    # This service's address as browsers see it; if empty, it is derived from each request.
    server_url: str = ""
    # The site's own, "" if not set.
    site_url: str = ""
    # Are visitors distinguished, by what their browsers send?
    tells_visitors: bool = False
    # How long a login lasts.
    session_seconds: int = 0

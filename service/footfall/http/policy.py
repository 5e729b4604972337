"""What the web layer itself has to know of the settings: whom to believe and whom to serve."""

from dataclasses import dataclass

from ..netaddr import Networks
from ..patterns import Domain


@dataclass(frozen=True, slots=True)
class Policy:
    """`domains` empty means that every site may call; `connections` is how many there may be.

    Requests that take longer than `slow_seconds` are logged; 0 for none.
    """

    trusted_proxies: Networks = Networks()
    domains: tuple[Domain, ...] = ()
    connections: int = 10_000
    slow_seconds: float = 0.0
    shows_demo: bool = True
    # Of this service, as browsers see it; empty: it is taken from each request.
    server_url: str = ""

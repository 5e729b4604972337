"""What the web layer itself has to know of the settings: whom to believe and whom to serve."""

import re
from dataclasses import dataclass

from ..domain.moderation import Network


@dataclass(frozen=True, slots=True)
class Policy:
    """`domains` empty means that every site may call; `connections` is how many there may be."""

    trusted_proxies: tuple[Network, ...] = ()
    domains: tuple[str | re.Pattern[str], ...] = ()
    connections: int = 10_000

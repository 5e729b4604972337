"""What the web layer itself has to know of the settings: whom to believe and whom to serve."""

import re
from dataclasses import dataclass

from ..domain.moderation import Network


@dataclass(frozen=True, slots=True)
class Policy:
    """`domains` empty means that every site may call."""

    trusted_proxies: tuple[Network, ...] = ()
    domains: tuple[str | re.Pattern[str], ...] = ()

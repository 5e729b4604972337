"""What happens to a new comment: approved, waiting, spam, or not taken at all."""

import ipaddress
from dataclasses import dataclass
from functools import lru_cache

from ..errors import Forbidden, Unauthorized
from ..model import Caller, Status, Viewer
from ..patterns import Patterns

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Addresses that are remembered.
KEPT = 8192


@dataclass(frozen=True, slots=True)
class Rules:
    """`window_ms` is the time between two comments from one address; 0 is no limit.

    `comment_length` is in characters.
    """

    window_ms: int = 0
    comment_length: int = 16_384
    is_audited: bool = False
    forbidden: Patterns | None = None
    disallowed: tuple[Network, ...] = ()


def require_allowed(caller: Caller, rules: Rules) -> None:
    """Raises Forbidden for an address that may not comment; administrators may from anywhere."""
    if not caller.viewer.is_administrator and is_in(caller.address, rules.disallowed):
        raise Forbidden()


def verdict(caller: Caller, rules: Rules, *, has_forbidden_words: bool) -> Status:
    """Administrators pass everything; who is held for a word is not told, as in the reference."""
    if caller.viewer.is_administrator:
        return "approved"
    if has_forbidden_words:
        return "spam"
    return "waiting" if rules.is_audited else "approved"


def require_administrator(viewer: Viewer) -> None:
    """Raises Unauthorized for the public, Forbidden for everybody else."""
    if viewer.account is None:
        raise Unauthorized()
    if not viewer.is_administrator:
        raise Forbidden()


def is_in(address: str, networks: tuple[Network, ...]) -> bool:
    parsed = _parsed(address) if networks else None
    return parsed is not None and any(parsed in network for network in networks)


def limit_key(address: str) -> str:
    """Whom a rate limit is for: the address, or an IPv6 caller's /64, which one home owns whole."""
    parsed = _parsed(address)
    if parsed is None:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    return str(ipaddress.ip_network((parsed, 64), strict=False))


# Each address is looked at several times for a request, and parsing takes longer than all of that.
@lru_cache(KEPT)
def _parsed(address: str) -> Address | None:
    """None if it is no address; a dual-stack listener sees IPv4 callers as ::ffff:192.0.2.1."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed

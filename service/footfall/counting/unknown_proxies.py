"""Detects a proxy missing in TRUSTED_PROXIES: all its visitors share one address's limits."""

from ipaddress import ip_address

# Neighbours that are watched, and how many addresses one names before it is taken for a proxy.
MAX_PEERS = 8
MANY = 20
MAX_NAMED_BYTES = 100


class UnknownProxies:
    def __init__(self) -> None:
        self._named: dict[str, set[bytes]] = {}

    def refused(self, peer: str, forwarded: bytes) -> None:
        """A request from this address was too much for its limits, and had this X-Forwarded-For."""
        named = self._named.get(peer)
        if named is None:
            if len(self._named) >= MAX_PEERS or not _is_near(peer):
                return
            named = self._named[peer] = set()
        if len(named) < MANY:
            named.add(forwarded[:MAX_NAMED_BYTES])

    @property
    def warning(self) -> str:
        """For the owner; "" if none."""
        peers = sorted(peer for peer, named in self._named.items() if len(named) >= MANY)
        if not peers:
            return ""
        return (
            f"many visitors come from {', '.join(peers)}, and were rejected by the rate limit of "
            "one address: if it is your proxy, add it to TRUSTED_PROXIES"
        )


def _is_near(peer: str) -> bool:
    """Is it in a private network? Addresses that visitors name elsewhere are no warning."""
    try:
        return not ip_address(peer).is_global
    except ValueError:
        return False

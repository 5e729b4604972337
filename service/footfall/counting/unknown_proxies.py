"""Detects proxies behind which all visitors are one: one that TRUSTED_PROXIES lacks, and a trusted
one that does not say who they are."""

from ipaddress import ip_address

from ..netaddr import Proxies

# Neighbours that are watched, and how many addresses one names before it is taken for a proxy.
MAX_PEERS = 8
MANY = 20
MAX_NAMED_BYTES = 100


class UnknownProxies:
    def __init__(self, proxies: Proxies) -> None:
        self._proxies = proxies
        self._named: dict[str, set[bytes]] = {}
        # Browsers that a trusted proxy has not named, while it has named none.
        self._unnamed: set[bytes] = set()
        self._has_named = False

    def refused(self, peer: str, forwarded: bytes) -> None:
        """A request from this address was too much for its limits, and named such a client."""
        named = self._named.get(peer)
        if named is None:
            if len(self._named) >= MAX_PEERS or not _is_near(peer):
                return
            named = self._named[peer] = set()
        if len(named) < MANY:
            named.add(forwarded[:MAX_NAMED_BYTES])

    def asked(self, peer: str, forwarded: bytes, agent: bytes) -> None:
        """A client whose user agent is new came from this address, which named it so, or not."""
        if self._has_named or peer not in self._proxies:
            return
        if forwarded:
            self._has_named = True
            self._unnamed.clear()
        elif len(self._unnamed) < MANY:
            self._unnamed.add(agent[:MAX_NAMED_BYTES])

    @property
    def warning(self) -> str:
        """For the owner; "" if none."""
        peers = sorted(peer for peer, named in self._named.items() if len(named) >= MANY)
        if peers:
            return (
                f"many visitors come from {', '.join(peers)}, and were rejected by the rate limit "
                "of one address: if it is your proxy, add it to TRUSTED_PROXIES"
            )
        if len(self._unnamed) >= MANY:
            return (
                "many browsers come from a trusted proxy that has named none of them in "
                f"{self._proxies.header.decode()}, and count as one visitor: have it send that "
                "header, or set CLIENT_ADDRESS_HEADER"
            )
        return ""


def _is_near(peer: str) -> bool:
    """Is it in a private network? Addresses that visitors name elsewhere are no warning."""
    try:
        return not ip_address(peer).is_global
    except ValueError:
        return False

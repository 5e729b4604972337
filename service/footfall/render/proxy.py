"""Pictures that are fetched through a proxy: `<proxy>?url=<address>`."""

import re

from .encoding import in_component

# Nothing here can be read in two ways: no user, no backslash, and no escape in a host.
_ADDRESS = re.compile(
    r"(https?)://([^/?#@:%\\\s\[\]]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?(/[^?#\\\s]*)?([?#].*)?",
    re.IGNORECASE | re.DOTALL,
)
_PORTS = {"http": 80, "https": 443}

# Scheme, host, port and path.
Place = tuple[str, str, int, str]


def proxied(address: str, proxy: str) -> str:
    """The address through the proxy, unless it is there already; either may be ""."""
    if not (proxy and address) or place_of(address) == place_of(proxy):
        return address
    return f"{proxy}?url={in_component(address)}"


def place_of(address: str) -> Place | None:
    """The host that a browser would query, and the path; None for an ambiguous address."""
    match = _ADDRESS.fullmatch(address)
    if match is None:
        return None
    scheme, host, port, path, _ = match.groups()
    scheme = scheme.lower()
    return scheme, host.lower(), int(port or _PORTS.get(scheme, 0)), path or "/"

"""Clients' IP addresses, and networks of them.

This runs for every change behind a proxy, so integers are compared and no objects are made: those
of the standard library would take 4 µs for each address.
"""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network
from socket import AF_INET, AF_INET6, inet_ntop, inet_pton

Network = IPv4Network | IPv6Network

# The first bytes of an IPv4 address that a dual-stack socket shows as an IPv6 one.
_MAPPED = bytes(10) + b"\xff\xff"


class Networks:
    """A set of networks; `in` tells if an address, as text, is in one of them."""

    def __init__(self, networks: Iterable[Network] = ()) -> None:
        # (length of an address in bytes, mask, first address of the network)
        self._masked = [
            (each.max_prefixlen // 8, int(each.netmask), int(each.network_address))
            for each in networks
        ]

    def __contains__(self, address: str) -> bool:
        packed = _packed(address) if self._masked else b""
        if not packed:
            return False
        length, number = len(packed), int.from_bytes(packed)
        return any(length == size and number & mask == net for size, mask, net in self._masked)


def limit_key(address: str) -> str:
    """What a rate limit counts as one client: an IPv4 address, or an IPv6 /64, which one home has;
    text that is no address is returned as it is."""
    packed = _packed(address)
    if len(packed) == 4:
        return inet_ntop(AF_INET, packed)
    return inet_ntop(AF_INET6, packed[:8] + bytes(8)) + "/64" if packed else address


def _packed(address: str) -> bytes:
    """The four or sixteen bytes of an address; b"" if it is none."""
    try:
        return inet_pton(AF_INET, address)
    except (OSError, ValueError):
        pass
    try:
        packed = inet_pton(AF_INET6, address.partition("%")[0])
    except (OSError, ValueError):
        return b""
    return packed[12:] if packed.startswith(_MAPPED) else packed

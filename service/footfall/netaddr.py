"""Addresses of clients, and the networks that they may be in.

Every change behind a proxy comes with another address, so this is looked at for each of them:
numbers are compared, and no objects are made (the standard library's take 4 µs an address).
"""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network
from socket import AF_INET, AF_INET6, inet_ntop, inet_pton

Network = IPv4Network | IPv6Network

# As a dual-stack listener shows the address of an IPv4 caller, before its last four bytes.
_MAPPED = bytes(10) + b"\xff\xff"


class Networks:
    """Some networks; `in` says whether an address, as text, is in one of them."""

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
    """Whom a rate limit is for: the address, or an IPv6 caller's /64, which one home owns whole."""
    packed = _packed(address)
    if len(packed) == 4:
        return inet_ntop(AF_INET, packed)
    return inet_ntop(AF_INET6, packed[:8] + bytes(8)) + "/64" if packed else address


def _packed(address: str) -> bytes:
    """Four or sixteen bytes; none if it is no address."""
    try:
        return inet_pton(AF_INET, address)
    except (OSError, ValueError):
        pass
    try:
        packed = inet_pton(AF_INET6, address.partition("%")[0])
    except (OSError, ValueError):
        return b""
    return packed[12:] if packed.startswith(_MAPPED) else packed

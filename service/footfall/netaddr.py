"""Clients' IP addresses, also behind proxies, and networks.

This runs for every change behind a proxy, so it compares integers and creates no objects: those of
the standard library would take 4 µs per address.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from socket import AF_INET, AF_INET6, inet_ntop, inet_pton
from typing import Generic, TypeVar

Network = IPv4Network | IPv6Network
T = TypeVar("T")

# A /48 of IPv6 may do as much as this many homes, each of which has a /64.
HOMES_IN_A_NETWORK = 32
# The first bytes of an IPv4 address that a dual-stack socket shows as an IPv6 one.
_MAPPED = bytes(10) + b"\xff\xff"

FORWARDED_FOR = b"x-forwarded-for"
# RFC 7239, whose entries name more than addresses.
FORWARDED = b"forwarded"
_FOR = re.compile(r'(?i)(?:^|;)\s*for\s*=\s*"?([^";\s]*)')
_WITH_PORT = re.compile(r"\[([^\]]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+")
# Of an IPv6 address that ends in an IPv4 one.
_LONGEST_ADDRESS = 45


class Networks:
    """A set of networks; `in` tests an address, as text."""

    def __init__(self, networks: Iterable[Network] = ()) -> None:
        # (length of an address in bytes, mask, first address of the network)
        self._masked = [
            (network.max_prefixlen // 8, int(network.netmask), int(network.network_address))
            for network in networks
        ]
        # Length of an address -> mask -> first addresses of the networks with this mask.
        self._by_length: dict[int, dict[int, set[int]]] = {4: {}, 16: {}, 0: {}}
        for length, mask, net in self._masked:
            self._by_length[length].setdefault(mask, set()).add(net)
        # The first bytes of their IPv4 addresses: most others are told by these.
        self._first = frozenset(
            first
            for first in range(256)
            for length, mask, net in self._masked
            if length == 4 and (first ^ net >> 24) & mask >> 24 == 0
        )

    def __contains__(self, address: str) -> bool:
        return self._have(_packed(address))

    def limit_key_outside(self, address: str) -> str:
        """limit_key of an address outside these networks; "" inside."""
        packed = _packed(address)
        return "" if self._have(packed) else _limit_key(address, packed)

    def outside(self, address: str) -> str:
        """An IPv4 address, if its first byte tells that it is outside these networks; else "".
        Raises OSError or ValueError for anything but an IPv4 address."""
        return address if inet_pton(AF_INET, address)[0] not in self._first else ""

    def _have(self, packed: bytes) -> bool:
        number = int.from_bytes(packed)
        # A loop, since to make a generator would take as long as the rest.
        for mask, nets in self._by_length[len(packed)].items():  # noqa: SIM110
            if number & mask in nets:
                return True
        return False

    def overlaps(self, network: str) -> bool:
        """Have they an address in common with that network, as network_text writes it?"""
        size, mask, net = _masked(network)
        return any(
            size == other and (net ^ own) & mask & own_mask == 0
            for other, own_mask, own in self._masked
        )


class NetworkMap(Generic[T]):
    """Values by networks: finding those of an address costs one lookup per prefix length, however
    many networks there are."""

    def __init__(self) -> None:
        # (length of an address in bytes, mask) -> first address of a network -> value
        self._tables: defaultdict[tuple[int, int], dict[int, T]] = defaultdict(dict)

    def __setitem__(self, network: str, value: T) -> None:
        """`network` as network_text writes it."""
        size, mask, net = _masked(network)
        self._tables[size, mask][net] = value

    def of(self, address: str) -> Iterator[T]:
        """The values of all networks that have this address."""
        packed = _packed(address) if self._tables else b""
        length, number = len(packed), int.from_bytes(packed)
        for (size, mask), table in self._tables.items():
            if size == length and (value := table.get(number & mask)) is not None:
                yield value


@dataclass(frozen=True, slots=True)
class Proxies:
    """Trusted proxies, and the header in which they name a client, in lower case."""

    trusted: Networks = Networks()
    header: bytes = FORWARDED_FOR

    @classmethod
    def of(cls, networks: Iterable[Network], header: str) -> "Proxies":
        return cls(Networks(networks), header.lower().encode())

    def __contains__(self, peer: str) -> bool:
        """Is a connection from this address one of a trusted proxy?

        A peer without an address came over a UNIX socket, which only a local proxy can open.
        """
        return not peer or peer in self.trusted

    def address_of(self, peer: Sequence[object] | None, headers: Mapping[bytes, bytes]) -> str:
        """The client's address; "" if unknown. `peer` is (address, port) of the connection."""
        nearest = str(peer[0]) if peer and peer[0] else ""
        forwarded = headers.get(self.header)
        if forwarded is None or nearest not in self:
            return nearest
        return self.behind(nearest, forwarded)

    def behind(self, nearest: str, forwarded: bytes) -> str:
        """The last address in the header that is not a trusted proxy's; `nearest` is the proxy's.

        The header is read from the right, because every proxy appends: everything left of the first
        untrusted address is only that client's claim.
        """
        hops = forwarded.decode("latin-1").split(",")
        if self.header == FORWARDED:
            # Each by itself: a quotation mark that a client leaves open hides no proxy's entry.
            hops = [found[1] if (found := _FOR.search(hop)) else "" for hop in hops]
        while hops:
            hop = hops.pop().strip()
            if not hop:
                continue
            # Some proxies add the port.
            if (":" in hop or "[" in hop) and (bracketed := _WITH_PORT.fullmatch(hop)):
                hop = bracketed[1] or bracketed[2]
            if len(hop) > _LONGEST_ADDRESS:
                return nearest
            nearest = hop
            if hops and hop not in self.trusted:
                break
        return nearest


def network_text(text: str) -> str:
    """An address or a network as it is written for comparison; "" if invalid.

    An IPv6 address alone stands for its /64, which one home has.
    """
    if "%" in text:
        # The zone of a link-local address means nothing on other machines.
        return ""
    if _packed(text):
        return limit_key(text)
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        return ""
    if network.version == 6 and (mapped := network.network_address.ipv4_mapped):
        network = IPv4Network((mapped, max(network.prefixlen - 96, 0)))
    is_alone = network.version == 4 and network.prefixlen == 32
    return str(network.network_address) if is_alone else str(network)


def _masked(network: str) -> tuple[int, int, int]:
    """(length of an address in bytes, mask, first address)"""
    address, _, length = network.partition("/")
    packed = _packed(address)
    bits = 8 * len(packed)
    kept = int(length or bits)
    return len(packed), (1 << bits) - (1 << (bits - kept)), int.from_bytes(packed)


def limit_key(address: str) -> str:
    """What a rate limit counts as one client: an IPv4 address, or an IPv6 /64, which one home has;
    text that is not an address is returned as it is."""
    return _limit_key(address, _packed(address))


def masked(address: str) -> str:
    """The network of an address, in which a home is one of many: an IPv4 /24 or an IPv6 /48; "" for
    text that is not an address."""
    packed = _packed(address)
    if len(packed) == 4:
        return inet_ntop(AF_INET, packed[:3] + bytes(1)) + "/24"
    return inet_ntop(AF_INET6, packed[:6] + bytes(10)) + "/48" if packed else ""


def network_key(client_key: str) -> str:
    """The /48 around an IPv6 network that limit_key has named, which one line may have; "" for
    whatever else is counted as one client."""
    packed = _packed(client_key.partition("/")[0]) if ":" in client_key else b""
    return inet_ntop(AF_INET6, packed[:6] + bytes(10)) + "/48" if len(packed) == 16 else ""


def place_of(client_key: str, places: int) -> int:
    """The place of a client, as limit_key names it, in a table of so many. Those of a /48 share a
    few, so that a client with all its addresses does not have as many places."""
    # Python's hash of strings has a random seed in each process.
    if ":" not in client_key:
        return hash(client_key) % places
    # Three words of an IPv6 address are its /48. Zeros that are left out can make two of one.
    network = ":".join(client_key.split(":", 3)[:3])
    return (hash(network) + hash(client_key) % HOMES_IN_A_NETWORK) % places


def _limit_key(address: str, packed: bytes) -> str:
    if len(packed) == 4:
        # An IPv4 address can be written in one way only, unless it is shown as an IPv6 one.
        return inet_ntop(AF_INET, packed) if ":" in address else address
    return inet_ntop(AF_INET6, packed[:8] + bytes(8)) + "/64" if packed else address


def _packed(address: str) -> bytes:
    """The four or sixteen bytes of an address; b"" if invalid."""
    try:
        return inet_pton(AF_INET, address)
    except (OSError, ValueError):
        pass
    try:
        packed = inet_pton(AF_INET6, address.partition("%")[0])
    except (OSError, ValueError):
        return b""
    return packed[12:] if packed.startswith(_MAPPED) else packed

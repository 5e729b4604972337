"""Who sent a request: the address behind trusted proxies, the token, the site it comes from."""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from ..domain.moderation import Network, is_in
from ..patterns import Domain

Headers = Mapping[bytes, bytes]

LOCAL = ("localhost", "127.0.0.1")
# RFC 1035: longer names of hosts are nobody's, and are not searched.
MAX_HOST = 253


def address_of(
    peer: Sequence[object] | None, headers: Headers, trusted: tuple[Network, ...]
) -> str:
    """The nearest address in X-Forwarded-For that is not a trusted proxy's.

    Read from the right: everything left of the first stranger is only what that stranger claims.
    A peer without an address came over a UNIX socket, which only a local proxy can open.
    """
    nearest = str(peer[0]) if peer and peer[0] else ""
    if nearest and not is_in(nearest, trusted):
        return nearest
    forwarded = headers.get(b"x-forwarded-for")
    if forwarded is None:
        return nearest
    for hop in reversed(forwarded.decode("latin-1").split(",")):
        hop = hop.strip()
        if not hop:
            continue
        # Some proxies add the port.
        if (bracketed := re.fullmatch(r"\[([^\]]*)\](:\d+)?", hop)) or (
            bracketed := re.fullmatch(r"(\d+\.\d+\.\d+\.\d+):\d+", hop)
        ):
            hop = bracketed[1]
        if len(hop) > 45:
            return nearest
        nearest = hop
        if not is_in(hop, trusted):
            break
    return nearest


def token_of(headers: Headers) -> str:
    """What follows "Bearer ", spelt just so; without that word, all of it, as in the reference."""
    value = headers.get(b"authorization")
    return value.decode("latin-1").removeprefix("Bearer ") if value else ""


def is_allowed(headers: Headers, domains: tuple[Domain, ...]) -> bool:
    """May a page of the host in Referer, else in Origin, call this service?"""
    if not domains:
        return True
    source = headers.get(b"referer") or headers.get(b"origin") or b""
    try:
        host = urlsplit(source.decode("latin-1")).hostname
    except ValueError:
        return False
    if not host or len(host) > MAX_HOST:
        return False
    return host in LOCAL or any(
        domain == host if isinstance(domain, str) else domain.search(host) for domain in domains
    )

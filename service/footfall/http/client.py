"""Who sent a request: the address behind trusted proxies, the token, the site it comes from."""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from starlette.types import Scope

from ..netaddr import Networks
from ..patterns import Domain
from .policy import Policy

Headers = Mapping[bytes, bytes]

LOCAL = ("localhost", "127.0.0.1")
_WITH_PORT = re.compile(r"\[([^\]]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+")
# RFC 1035: longer names of hosts are nobody's, and are not searched.
MAX_HOST = 253


def headers_of(lines: Sequence[tuple[bytes, bytes]]) -> Headers:
    """Values by name; several lines of one name are one list, in order (RFC 9110, section 5.3)."""
    headers = dict(lines)
    if len(headers) < len(lines):
        headers = {}
        for name, value in lines:
            headers[name] = b"%b, %b" % (headers[name], value) if name in headers else value
    return headers


def address_of(peer: Sequence[object] | None, headers: Headers, trusted: Networks) -> str:
    """The nearest address in X-Forwarded-For that is not a trusted proxy's.

    Read from the right: everything left of the first stranger is only what that stranger claims.
    A peer without an address came over a UNIX socket, which only a local proxy can open.
    """
    nearest = str(peer[0]) if peer and peer[0] else ""
    if nearest and nearest not in trusted:
        return nearest
    forwarded = headers.get(b"x-forwarded-for")
    if forwarded is None:
        return nearest
    for hop in reversed(forwarded.decode("latin-1").split(",")):
        hop = hop.strip()
        if not hop:
            continue
        # Some proxies add the port.
        if (":" in hop or "[" in hop) and (bracketed := _WITH_PORT.fullmatch(hop)):
            hop = bracketed[1] or bracketed[2]
        if len(hop) > 45:
            return nearest
        nearest = hop
        if hop not in trusted:
            break
    return nearest


def server_address(scope: Scope, policy: Policy) -> str:
    """This service's address as the browser sees it, by the headers of a trusted proxy if any."""
    headers = headers_of(scope["headers"])
    peer = scope.get("client")
    scheme, host = scope.get("scheme", "http"), headers.get(b"host", b"")
    if not peer or not peer[0] or peer[0] in policy.trusted_proxies:
        scheme = headers.get(b"x-forwarded-proto", scheme.encode()).decode("latin-1")
        host = headers.get(b"x-forwarded-host", host)
    # Of a list the last is the nearest proxy's; what stands before may be the page's own word.
    scheme = scheme.rpartition(",")[2].strip().lower()
    name = host.rpartition(b",")[2].decode("latin-1").strip()
    if scheme != "https":
        scheme = "http"
    return f"{scheme}://{name}" if re.fullmatch(r"[\w.:\[\]-]{1,255}", name) else ""


def token_of(headers: Headers) -> str:
    """What follows "Bearer ", spelt just so; without that word, all of it, as in the reference."""
    value = headers.get(b"authorization")
    return value.decode("latin-1").removeprefix("Bearer ") if value else ""


def is_allowed(headers: Headers, domains: tuple[Domain, ...]) -> bool:
    """May a page of the host in Referer, else in Origin, call this service?"""
    if not domains:
        return True
    host = _host_of_page(headers)
    if not host or len(host) > MAX_HOST:
        return False
    return host in LOCAL or any(
        domain == host if isinstance(domain, str) else domain.search(host) for domain in domains
    )


def is_own_page(headers: Headers, policy: Policy) -> bool:
    """Is it the demonstration page that asks? SECURE_DOMAINS need not name this service's host.

    A page of another host cannot call this one by the other's name: its browser says both. Whoever
    is no browser may say anything, a listed host as well. X-Forwarded-Host does not count, whoever
    passes it on: any page may send it.
    """
    host = _host_of_page(headers)
    if not policy.shows_demo or not host:
        return False
    own = policy.server_url or f"http://{headers.get(b'host', b'').decode('latin-1')}"
    return host == _host(own)


def _host_of_page(headers: Headers) -> str:
    return _host((headers.get(b"referer") or headers.get(b"origin") or b"").decode("latin-1"))


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""

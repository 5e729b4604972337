"""The sender of a request: token and site; netaddr.py finds its address."""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from starlette.types import Scope

from ..patterns import Domain
from .policy import Policy

Headers = Mapping[bytes, bytes]

LOCAL = ("localhost", "127.0.0.1")
# Names that cannot be registered: those of a local machine and network (RFC 6761, 6762, 8375).
_NOBODYS = re.compile(r"[^.]+|.+\.(localhost|local|internal|home\.arpa|lan|test)")
_ADDRESS = re.compile(r"[\d.]+|(?=[^:]*:)[\da-f:.]+")
# RFC 1035: no host has a longer name, so patterns need not search it.
MAX_HOST = 253


def headers_of(lines: Sequence[tuple[bytes, bytes]]) -> Headers:
    """Values by name; several lines of one name are one list, in order (RFC 9110, section 5.3)."""
    headers = dict(lines)
    if len(headers) < len(lines):
        headers = {}
        for name, value in lines:
            headers[name] = b"%b, %b" % (headers[name], value) if name in headers else value
    return headers


def purpose_of(headers: Mapping[bytes, bytes]) -> bytes:
    """The purpose of a request according to the browser; b"" for one to view a page."""
    return headers.get(b"sec-purpose") or headers.get(b"purpose", b"")


def server_address(scope: Scope, policy: Policy) -> str:
    """This service's address as the browser sees it, "" without a valid Host.

    X-Forwarded-Proto and X-Forwarded-Host count if a trusted proxy sent them.
    """
    headers = headers_of(scope["headers"])
    peer = scope.get("client")
    scheme, host = scope.get("scheme", "http"), headers.get(b"host", b"")
    if not peer or peer[0] in policy.proxies:
        scheme = headers.get(b"x-forwarded-proto", scheme.encode()).decode("latin-1")
        host = headers.get(b"x-forwarded-host", host)
    # The last entry of a list is the nearest proxy's; the client may have sent those before it.
    scheme = scheme.rpartition(",")[2].strip().lower()
    name = host.rpartition(b",")[2].decode("latin-1").strip()
    if scheme != "https":
        scheme = "http"
    return f"{scheme}://{name}" if re.fullmatch(r"[\w.:\[\]-]{1,255}", name) else ""


def service_url(scope: Scope, policy: Policy) -> str:
    """SERVER_URL, or this service's address as the browser sees it."""
    return policy.server_url or server_address(scope, policy)


def token_of(headers: Headers) -> str:
    """The token in Authorization, without "Bearer " if it is spelt exactly so, else the whole
    value, as in Waline; "" if there is none."""
    value = headers.get(b"authorization")
    return value.decode("latin-1").removeprefix("Bearer ") if value else ""


def is_allowed(headers: Headers, domains: tuple[Domain, ...]) -> bool:
    """May a page on the host in Referer, or else in Origin, call this service?

    No `domains` means that any page may.
    """
    if not domains:
        return True
    host = _host_of_page(headers)
    if not host or len(host) > MAX_HOST:
        return False
    return host in LOCAL or any(
        domain == host if isinstance(domain, str) else domain.search(host) for domain in domains
    )


def names_page(headers: Headers) -> bool:
    """Does a request name its page?"""
    return b"referer" in headers or b"origin" in headers


def is_admin_page(headers: Headers, policy: Policy) -> bool:
    """Was the request sent by a page of this service? It may call without being in SECURE_DOMAINS.

    A page on another host cannot pretend to be it, as its browser sends both Host and Referer
    truthfully. (A client that is not a browser can send any Referer, also one that SECURE_DOMAINS
    allows.) X-Forwarded-Host is ignored: any page can add it to a request.
    """
    host = _host_of_page(headers)
    if not host:
        return False
    if policy.server_url:
        return host == host_of(policy.server_url)
    own = host_of(f"http://{headers.get(b'host', b'').decode('latin-1')}")
    return host == own and may_be_own(host, policy)


def may_be_own(host: str, policy: Policy) -> bool:
    """May this service be at this host, which a request names? Anyone can point a host name here,
    and its pages would count as the service's own.

    Without SERVER_URL, the site's hosts and their subdomains are allowed; so are addresses and
    names that cannot be registered, since no public name server points them here. While no setting
    names the site, any host is allowed, so that the owner's first page works.
    """
    if not (policy.server_url or policy.site_url or policy.domains):
        return True
    if _ADDRESS.fullmatch(host) or _NOBODYS.fullmatch(host):
        return True
    return host == host_of(policy.server_url) or _is_of_site(host, policy)


def _is_of_site(host: str, policy: Policy) -> bool:
    site = host_of(policy.site_url)
    for domain in (*policy.domains, *([site] if site else [])):
        if not isinstance(domain, str):
            if len(host) <= MAX_HOST and domain.search(host):
                return True
        elif f".{host}".endswith("." + domain.removeprefix("www.")):
            return True
    return False


def _host_of_page(headers: Headers) -> str:
    return host_of((headers.get(b"referer") or headers.get(b"origin") or b"").decode("latin-1"))


def host_of(address: str) -> str:
    """The host of an address, in lower case and without its port; "" if it has none."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""

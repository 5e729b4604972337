"""Where a login may be sent: only to pages that settings name."""

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from ..patterns import Domain

# What every browser reads as this origin: no name of a user, nothing that is removed or converted.
_ORIGIN = re.compile(
    r"(https?)://([a-z0-9._-]{1,253}|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?(?![^/?#])", re.IGNORECASE
)
_PORTS = {"http": 80, "https": 443}
# Browsers read a backslash as a slash, and remove characters that no address has.
_UNCLEAR = re.compile(r"[\\\x00-\x20\x7f-\x9f]")
# Segments that browsers and proxies remove, with the segment before them.
_DOTS = re.compile(r"(?:^|[/\\])\.{1,2}(?:[/\\]|$)")
# Pages on the reader's own machine: no network in between.
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def origin_of(address: str) -> str:
    """Scheme, host and port of an http(s) address, as browsers write it; "" for anything else."""
    match = _ORIGIN.match(address)
    if match is None:
        return ""
    scheme, host, port = match[1].lower(), match[2].lower(), int(match[3] or 0)
    if port > 65535:
        return ""
    return f"{scheme}://{host}" + f":{port}" * (port not in (0, _PORTS[scheme]))


@dataclass(frozen=True, slots=True)
class Targets:
    """This service's own pages, those of SITE_URL, and those of SECURE_DOMAINS."""

    server_url: str = ""
    site_url: str = ""
    domains: tuple[Domain, ...] = ()

    @property
    def names_any(self) -> bool:
        """Do the settings name the site?"""
        return bool(self.site_url or self.domains)

    def resolve(self, address: str) -> str:
        """The whole address, if a login may be sent there; else ""."""
        if _UNCLEAR.search(address):
            return ""
        # Under a prefix, pages name their paths with it.
        is_path = address.startswith("/") and not address.startswith("//")
        whole = origin_of(self.server_url) + address if is_path else address
        if not origin_of(whole) or _DOTS.search(unquote(_path_of(whole))):
            return ""
        return whole if self.is_own(whole) or self._is_named(origin_of(whole)) else ""

    def may_be_told(self, origin: str) -> bool:
        """May a login be handed to pages of this origin?"""
        if not origin or origin_of(origin) != origin:
            return False
        return origin == origin_of(self.server_url) or self._is_named(origin)

    def _is_named(self, origin: str) -> bool:
        if origin == origin_of(self.site_url):
            return True
        parts = urlsplit(origin)
        host = parts.hostname or ""
        # Without encryption, anyone in between may read and change it.
        is_safe = parts.scheme == "https" or host in _LOOPBACK
        return (is_safe or self.server_url.startswith("http:")) and self._is_listed(host)

    def _is_listed(self, host: str) -> bool:
        return any(
            domain == host if isinstance(domain, str) else domain.search(host)
            for domain in self.domains
        )

    def is_own(self, address: str) -> bool:
        """Does this address, without dot segments, belong to the service itself?"""
        own = self.server_url
        return bool(own) and re.match(re.escape(own) + r"(?![^/?#])", address) is not None


def _path_of(address: str) -> str:
    return re.split("[?#]", address, maxsplit=1)[0].partition("://")[2].partition("/")[2]

"""Where a log-in may be sent: only to pages that settings name."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from ..patterns import Domain

_HOST = re.compile(r"[a-z0-9.:_-]{1,253}")
# Browsers read a backslash as a slash, and remove characters that no address has.
_UNCLEAR = re.compile(r"[\\\x00-\x20\x7f-\x9f]")


def origin_of(address: str) -> str:
    """Scheme, host and port of an http(s) address; "" for anything else."""
    try:
        parts = urlsplit(address)
        has_port = parts.port is not None
    except ValueError:
        return ""
    # As browsers write it, which send names in other scripts as punycode.
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(parts.hostname or ""):
        return ""
    host = f"[{parts.hostname}]" if "[" in parts.netloc else parts.hostname
    return f"{parts.scheme}://{host}:{parts.port}" if has_port else f"{parts.scheme}://{host}"


@dataclass(frozen=True, slots=True)
class Targets:
    """This service's own pages, those of SITE_URL, and those of SECURE_DOMAINS."""

    server_url: str = ""
    site_url: str = ""
    domains: tuple[Domain, ...] = ()

    def resolve(self, address: str) -> str:
        """The whole address, if a log-in may be sent there; else ""."""
        if _UNCLEAR.search(address):
            return ""
        if address.startswith("/") and not address.startswith("//"):
            # Behind a prefix, pages name their paths with it.
            return origin_of(self.server_url) + address
        return address if self.may_be_told(origin_of(address)) else ""

    def may_be_told(self, origin: str) -> bool:
        """May a log-in be handed to pages of this origin?"""
        if not origin or "@" in origin:
            return False
        if origin in (origin_of(self.server_url), origin_of(self.site_url)):
            return True
        parts = urlsplit(origin)
        # Whoever is between may read and change what is not encrypted.
        is_encrypted = parts.scheme == "https" or self.server_url.startswith("http:")
        return is_encrypted and self._is_listed(parts.hostname or "")

    def _is_listed(self, host: str) -> bool:
        return any(
            domain == host if isinstance(domain, str) else domain.search(host)
            for domain in self.domains
        )

    def is_own(self, address: str) -> bool:
        """Does this address belong to the service itself?"""
        own = self.server_url
        return bool(own) and (address == own or address.startswith(f"{own}/"))

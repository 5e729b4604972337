"""Which pictures comments may show, and through which proxy.

Readers' browsers load them, and this service never does: so these settings decide which servers
learn who reads a page.
"""

import re
from dataclasses import dataclass

from .proxy import proxied

# No SVG: that is a document, which may contain scripts and addresses.
_INLINE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
# Browsers ignore some of these characters before or in a scheme.
_SKIPPED = re.compile(r"[\x00-\x20]+")
_LEFT_OUT = re.compile(r"^[\x00-\x20]+|[\t\n\r]|[\x00-\x20]+$")
# Browsers read a backslash as a slash.
_OTHER_SITE = re.compile(r"[/\\]{2}")


@dataclass(frozen=True, slots=True)
class Pictures:
    """A site's settings; with a `proxy`, pictures are loaded from `<proxy>?url=<address>`."""

    proxy: str = ""
    are_shown: bool = True

    def source(self, tag: str, attribute: str, address: str) -> str | None:
        """The address to write into a tag's `src` or `poster`; None to leave that out."""
        is_picture = tag == "img" or attribute == "poster"
        if not is_picture:
            return address if has_scheme_of(address, "http", "https") else None
        if not self.are_shown:
            return None
        if _INLINE.fullmatch(address):
            return address if tag == "img" else None
        return self._proxied(address) if has_scheme_of(address, "http", "https") else None

    def portrait(self, address: str) -> str:
        """The address to show of an account's own picture; "" for none.

        Some clients write it into HTML as it is, where `&#47;/` is another site's address.
        """
        if self.are_shown and not self.proxy:
            return address
        is_relative = not _SCHEME.match(address)
        if is_relative and "&" in address:
            return ""
        return self.source("img", "src", address) or ""

    def _proxied(self, address: str) -> str:
        bare = bare_of(address)
        # A relative address is on the page's own site, and needs no proxy.
        return proxied(bare, self.proxy) if self.proxy and _SCHEME.match(bare) else address


ALL_PICTURES = Pictures()


def has_scheme_of(address: str, *schemes: str) -> bool:
    """Would a browser load it by one of these schemes, or by the page's own?"""
    match = _SCHEME.match(_SKIPPED.sub("", address))
    return match is None or match[1].lower() in schemes


def bare_of(address: str) -> str:
    """The address as browsers read it, with a scheme where it leads to another site."""
    bare = _LEFT_OUT.sub("", address)
    return f"https://{bare[2:]}" if _OTHER_SITE.match(bare) else bare

"""Where the pictures of comments may come from, and how they are asked for.

A reader's browser fetches them, this service never does: what an operator decides here decides
which strangers' servers learn who reads a page.
"""

import re
from dataclasses import dataclass

from .avatar import proxied

# Never SVG: it is a document, with scripts and addresses of its own.
_INLINE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
# Browsers leave some of these out; no scheme has any.
_SKIPPED = re.compile(r"[\x00-\x20]+")
_LEFT_OUT = re.compile(r"^[\x00-\x20]+|[\t\n\r]|[\x00-\x20]+$")
# For browsers a backslash is a slash.
_OTHER_SITE = re.compile(r"[/\\]{2}")


@dataclass(frozen=True, slots=True)
class Pictures:
    """How a site has the pictures of its comments; `proxy` is asked as `<proxy>?url=<address>`."""

    proxy: str = ""
    are_shown: bool = True

    def source(self, tag: str, attribute: str, address: str) -> str | None:
        """The address that is put into a tag's `src` or `poster`; None for none."""
        is_picture = tag == "img" or attribute == "poster"
        if not is_picture:
            return address if has_scheme_of(address, "http", "https") else None
        if not self.are_shown:
            return None
        if _INLINE.fullmatch(address):
            return address if tag == "img" else None
        return self._asked(address) if has_scheme_of(address, "http", "https") else None

    def _asked(self, address: str) -> str:
        bare = _LEFT_OUT.sub("", address)
        if _OTHER_SITE.match(bare):
            bare = f"https://{bare[2:]}"
        # What is relative is the page's own site's.
        is_elsewhere = _SCHEME.match(bare) and not (self.proxy and address.startswith(self.proxy))
        return proxied(bare, self.proxy) if self.proxy and is_elsewhere else address


ALL_PICTURES = Pictures()


def has_scheme_of(address: str, *schemes: str) -> bool:
    """Whether a browser would follow it by one of these schemes, or by the page's own."""
    found = _SCHEME.match(_SKIPPED.sub("", address))
    return found is None or found[1].lower() in schemes

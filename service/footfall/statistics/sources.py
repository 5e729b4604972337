"""Sources of visitors: the host of the referring page, and its path where browsers tell it; or the
campaign that a link names."""

import re
from collections.abc import Container
from urllib.parse import unquote_plus

from ..hosts import host_name, source_of
from ..model import NO_ORIGIN, Origin
from . import agents

# Parameters that a link's author adds for this, in any place of an address. The page's name does
# not have them (pages.py).
_CAMPAIGN = re.compile(r"[?&](?:utm_source|utm_campaign|ref)=([^&#]{1,100})")


# Without the query, which may say who it was.
_PATH = re.compile(r"\s*https?://[^/?#\\]+(/[!\"$->@-~]{1,100}?)/?(?:[?#]|\Z)", re.IGNORECASE)


def campaign_of(address: object) -> str:
    """The campaign in an address, as a source is named; "" for none, and for names that no source
    has."""
    if not isinstance(address, str) or "?" not in address:
        return ""
    match = _CAMPAIGN.search(address)
    name = unquote_plus(match[1]).strip().replace(" ", "-") if match else ""
    return host_name(name) if name.isascii() else ""


def source_in(referrer: str, own_hosts: Container[str]) -> str:
    """The source that an address is, the host of a page and its path; "" for none."""
    source, match = source_of(referrer, own_hosts), _PATH.match(referrer)
    return source + match[1] if source and match else source


def origin_of(referrer: str, own_hosts: Container[str], *, is_automated: bool) -> Origin:
    """The origin of a view as its page reports it."""
    if not (referrer or is_automated):
        return NO_ORIGIN
    if "//" in referrer:
        source = source_in(referrer, own_hosts)
    else:
        # Browsers send hosts in ASCII; encoding a visitor's text may take 10 ms.
        host = host_name(referrer) if referrer.isascii() else ""
        source = "" if host in own_hosts else host
    return Origin(source, agents.WEBDRIVER if is_automated else "")

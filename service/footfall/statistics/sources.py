"""Sources of visitors: the host of the referring page."""

from collections.abc import Container

from ..hosts import host_name, source_of
from ..model import NO_ORIGIN, Origin
from . import agents


def origin_of(referrer: str, own_hosts: Container[str], *, is_automated: bool) -> Origin:
    """The origin of a view as its page reports it."""
    if not (referrer or is_automated):
        return NO_ORIGIN
    if "//" in referrer:
        source = source_of(referrer, own_hosts)
    else:
        # Browsers send hosts in ASCII; encoding a visitor's text may take 10 ms.
        host = host_name(referrer) if referrer.isascii() else ""
        source = "" if host in own_hosts else host
    return Origin(source, agents.WEBDRIVER if is_automated else "")

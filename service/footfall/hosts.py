"""Names of hosts, and the host of a referring page.

Hosts are stored as they are: no list groups those of one search engine reliably. They come from
visitors, so each must have the form of a host name or an address, and pages can show it safely.
"""

import re
from collections.abc import Container
from ipaddress import AddressValueError, IPv6Address

# RFC 1035. An Android package has no longer name here, either.
MAX_HOST_CHARACTERS = 253
# Of what stands between the slashes: a host, a port, and whatever stands before an @.
MAX_AUTHORITY_CHARACTERS = 600

_WEB = re.compile(
    rf"\s*https?://([^/?#\\]{{1,{MAX_AUTHORITY_CHARACTERS}}})(?:[/?#\\]|\Z)", re.IGNORECASE
)
_PORT = re.compile(r":\d{0,5}\Z", re.ASCII)
_HOST = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_][a-z0-9_-]{0,62}")
# At least two parts, as Android demands.
_APPLICATION = re.compile(
    r"\s*android-app://([a-z]\w{0,99}(?:\.[a-z]\w{0,99}){1,20})(?:[/?#\s]|\Z)",
    re.IGNORECASE | re.ASCII,
)


def source_of(referer: bytes | str, own: Container[str] = ()) -> str:
    """The host in a Referer, as host_name writes it; of an application on Android, its package.

    "" for none, for hosts of the site itself, as host_name writes them, and for anything that is
    not a page's address. Browsers send ASCII only, so anything else is none.
    """
    if isinstance(referer, bytes):
        referer = referer.decode(errors="replace")
    if match := _WEB.match(referer):
        written = _PORT.sub("", match[1].rstrip().rpartition("@")[2])
        host = host_name(written) if written.isascii() else ""
        return "" if host in own else host
    if match := _APPLICATION.match(referer):
        return match[1].lower() if len(match[1]) <= MAX_HOST_CHARACTERS else ""
    return ""


def host_name(host: str) -> str:
    """A host without `www.` and in lower case; "" for what cannot be one.

    Names in other scripts are in Punycode, as browsers send them, so that each has one spelling and
    none can look like another's; to encode a long one takes a millisecond, so only settings have
    such names. An IPv6 address is in its short form, without brackets.
    """
    if host.startswith("["):
        return _ipv6(host)
    name = host.lower().removesuffix(".")
    if len(name) > MAX_HOST_CHARACTERS:
        return ""
    if not name.isascii():
        name = _punycode(name)
    if len(name) > MAX_HOST_CHARACTERS or not _HOST.fullmatch(name):
        return ""
    short = name.removeprefix("www.")
    return short if "." in short else name


def _ipv6(written: str) -> str:
    if len(written) > 50 or not written.endswith("]") or "%" in written:
        return ""
    try:
        return str(IPv6Address(written[1:-1]))
    except AddressValueError:
        return ""


def _punycode(name: str) -> str:
    try:
        return name.encode("idna").decode()
    except UnicodeError:
        return ""

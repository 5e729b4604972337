"""Addresses as browsers read them, which is not how Python does."""

import re


def browsers_origin(address: str) -> tuple[str, str]:
    """Scheme and host with port, as the URL standard of browsers reads them: it removes tabs and
    line ends, takes a backslash for a slash and leaves out further slashes."""
    address = re.sub("[\t\n\r]", "", address.strip("".join(map(chr, range(33)))))
    match = re.match(r"([a-z][a-z0-9+.-]*):/*([^/?#]*)", address.replace("\\", "/"), re.IGNORECASE)
    assert match, address
    return match[1].lower(), match[2].rpartition("@")[2].lower()

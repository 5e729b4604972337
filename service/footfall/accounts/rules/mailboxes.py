"""Which email addresses are one mailbox."""

import re
from unicodedata import normalize

from ...notify.mail import address_of
from .mails import canonical

GMAIL = ("gmail.com", "googlemail.com")
# A host by its number can be written in any number of ways.
_NUMBERED_HOST = re.compile(r"@\[|[@.]\d+$")


def recipient_of(mail: str) -> str:
    """The mailbox of an email address: its canonical form without the part after a plus, and at
    Gmail without dots. Raises ValueError for an invalid address."""
    address = address_of(mail).addr_spec
    if _NUMBERED_HOST.search(address):
        raise ValueError(f"{mail!r} is not an email address")
    local, _, domain = normalize("NFKC", canonical(address)).rpartition("@")
    local = local.partition("+")[0] or local
    if domain in GMAIL:
        return f"{local.replace('.', '')}@{GMAIL[0]}"
    return f"{local}@{domain}"

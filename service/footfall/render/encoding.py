"""Words as parts of addresses: percent-encoded as JavaScript does, or hashed."""

from hashlib import md5
from urllib.parse import quote

# Characters that JavaScript's encodeURIComponent does not encode.
_IN_COMPONENT = "!~*'()"
# Characters of an address that are not percent-encoded; quotes must be.
_IN_ADDRESS = "/:?#[]@!$&()*+,;=%~"


def in_component(text: str) -> str:
    return quote(text, safe=_IN_COMPONENT)


def in_address(text: str) -> str:
    return quote(text, safe=_IN_ADDRESS)


def md5_of(text: str) -> str:
    # Picture services require MD5. It does not hide an email address that can be guessed.
    return md5(text.encode(), usedforsecurity=False).hexdigest()

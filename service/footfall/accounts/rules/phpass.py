"""phpass's portable hashes, as Waline, WordPress and phpBB have stored passwords: MD5, iterated.

`$P$`, or phpBB's `$H$`; one character for the binary logarithm of the rounds; 8 of salt; and 22 for
the digest. Their base 64 starts with the lowest bits.
"""

import hmac
import re
from hashlib import md5

_ALPHABET = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# From 2⁷ rounds, phpass's fewest, to 2¹⁹: more would keep a thread busy for seconds.
HASH = re.compile(r"\$[PH]\$([5-9A-H])([./0-9A-Za-z]{8})([./0-9A-Za-z]{22})")
_DIGEST_CHARACTERS = 22


def verify(password: bytes, stored: str) -> bool:
    """Is it this password's hash? No if `stored` is no such hash."""
    match = HASH.fullmatch(stored)
    if match is None:
        return False
    digest = md5(match[2].encode() + password, usedforsecurity=False).digest()
    for _ in range(1 << _ALPHABET.index(match[1])):
        digest = md5(digest + password, usedforsecurity=False).digest()
    return hmac.compare_digest(_encoded(digest), match[3])


def _encoded(digest: bytes) -> str:
    number = int.from_bytes(digest, "little")
    return "".join(_ALPHABET[number >> 6 * place & 63] for place in range(_DIGEST_CHARACTERS))

"""Comments' ids: 16 characters of time and random bits, then the 16 of the page's digest.

The first half sorts by age, within one process even in the same millisecond, so that members of a
sorted set with equal scores are in order. The second half leads to the page, and so to its Cluster
slot, when a request names a comment by id alone. A page's own keys contain only the first half.
"""

import secrets
from base64 import b32hexdecode, b32hexencode
from hashlib import blake2b

RANDOM_BITS = 32
# Characters of the first half, the short id.
SHORT = 16
ALPHABET = frozenset("0123456789abcdefghijklmnopqrstuv")


def digest(*parts: str) -> str:
    """80 bits of blake2b as 16 lower-case letters and digits.

    That is enough: finding two paths with the same digest only joins these two pages.
    """
    joined = "\0".join(parts).encode()
    return b32hexencode(blake2b(joined, digest_size=10).digest()).decode().lower()


class IdGenerator:
    """Makes ids; each is greater than the last one, even when the clock steps back."""

    def __init__(self) -> None:
        self._last = 0

    def new(self, now_ms: int, path: str) -> str:
        fresh = now_ms << RANDOM_BITS | secrets.randbits(RANDOM_BITS)
        # Within one millisecond, ids count up, since random bits would not sort.
        is_later = fresh >> RANDOM_BITS > self._last >> RANDOM_BITS
        self._last = fresh if is_later else self._last + 1
        return b32hexencode(self._last.to_bytes(10)).decode().lower() + digest(path)


def fixed(at_ms: int, low: int, path: str) -> str:
    """The id of an imported comment; the lower RANDOM_BITS of `low` distinguish it from others of
    the same moment."""
    number = at_ms << RANDOM_BITS | (low & ((1 << RANDOM_BITS) - 1))
    return b32hexencode(number.to_bytes(10)).decode().lower() + (digest(path) if path else "")


def low_bits(id: str) -> int:
    """Distinguishes it from others of the same moment."""
    return int.from_bytes(b32hexdecode(id[:SHORT].upper())) & ((1 << RANDOM_BITS) - 1)


def created_ms(id: str) -> int:
    """When an id was made, in ms since the epoch."""
    return int.from_bytes(b32hexdecode(id[:SHORT].upper())) >> RANDOM_BITS


def is_short(text: str) -> bool:
    """Could it be the first half of an id? Accounts have no other."""
    return len(text) == SHORT and set(text) <= ALPHABET


def is_id(text: str) -> bool:
    return len(text) == 2 * SHORT and set(text) <= ALPHABET


def split(id: str) -> tuple[str, str]:
    """(short id, page digest)"""
    return id[:SHORT], id[SHORT:]

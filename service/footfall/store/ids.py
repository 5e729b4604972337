"""Ids that say when and where: 16 characters of time and chance, then the page's 16.

The first half sorts by age even within a millisecond of one process, so equal scores in a sorted
set still come out in order. The second half finds the page, and so the Cluster slot, of a comment
that a request names by id alone. Inside a page's keys only the first half is stored.
"""

import secrets
from base64 import b32hexdecode, b32hexencode

from ..driver.keys import digest

CHANCE_BITS = 32
SHORT = 16


class IdGenerator:
    """Makes ids; each is greater than the one before, even when the clock steps back."""

    def __init__(self) -> None:
        self._last = 0

    def new(self, now_ms: int, path: str) -> str:
        fresh = now_ms << CHANCE_BITS | secrets.randbits(CHANCE_BITS)
        # Within one millisecond, count on from the last id instead of rolling the dice again.
        is_later = fresh >> CHANCE_BITS > self._last >> CHANCE_BITS
        self._last = fresh if is_later else self._last + 1
        return b32hexencode(self._last.to_bytes(10)).decode().lower() + digest(path)


def created_ms(id: str) -> int:
    """When an id was minted, in ms since the epoch."""
    return int.from_bytes(b32hexdecode(id[:SHORT].upper())) >> CHANCE_BITS


def is_id(text: str) -> bool:
    return len(text) == 2 * SHORT and set(text) <= set("0123456789abcdefghijklmnopqrstuv")


def split(id: str) -> tuple[str, str]:
    """(short id, page digest)"""
    return id[:SHORT], id[SHORT:]

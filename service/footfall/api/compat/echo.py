"""What asks for counters and echoes in its answer how the client spelt their names.

The fast path keeps these requests, and bounds the memory that they take.
"""

from ...model import type_of
from ..fast import CounterChange, CounterRead, FastRequest


def name_of(page: str) -> str:
    """The name of its counter."""
    return f"{type_of(page)} {page}"


class EchoRead(CounterRead):
    """A read that keeps the texts of its request besides the commands."""

    __slots__ = ()

    def kept_bytes(self, text_bytes: int) -> int:
        return super().kept_bytes(text_bytes) + FastRequest.kept_bytes(self, text_bytes)


class EchoChange(CounterChange):
    """A change that keeps the texts of its request besides the commands."""

    __slots__ = ()

    def kept_bytes(self, text_bytes: int) -> int:
        return super().kept_bytes(text_bytes) + FastRequest.kept_bytes(self, text_bytes)

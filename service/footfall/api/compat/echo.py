"""What asks for counters and echoes in its answer how the client spelt their names.

The fast path keeps these requests, and bounds the memory that they take.
"""

from ...domain.counters import VIEWS
from ...model import NO_VIEWS, SITE_COUNTERS
from ..fast import CounterChange, CounterRead, FastRequest


def type_of(page: str) -> str:
    """A page may have any name, but two are those of Fluid's counters of the whole site: these are
    raised besides the page's, and as views the site would have each three times."""
    return NO_VIEWS if page in SITE_COUNTERS else VIEWS


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

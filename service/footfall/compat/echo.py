"""What echoes in its answer how the client spelt the names of counters.

The answer is a template of bytes, made once for all requests that are alike; the fast path keeps
it, and bounds the memory that it takes.
"""

from sys import getsizeof

from ..counting.names import type_of


def counter_name(page: str) -> str:
    """The name of its counter."""
    return f"{type_of(page)} {page}"


def size_of(*templates: bytes) -> int:
    """How much memory they take."""
    return sum(map(getsizeof, templates))

"""The bytes of JSON files as parsers can take them: with whole characters, and not nested deeply.

The parser of large files holds the path of each value, so that deep nesting takes memory by its
square, and it fails in the whole file where half of a character is escaped.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate

from ..http.surrogates import HIGH, whole_escapes
from .source import Damaged

# Lists and objects in each other; no format has more than eight.
MAX_DEPTH = 64
# An escape that may continue in the next chunk, and the longest of them.
_PART = rb"\\(?:u[0-9a-fA-F]{0,3})?"
_OPEN = re.compile(rb"(?<!\\)(?:\\\\)*(%b|%b(?:%b)?)\Z" % (_PART, HIGH, _PART))
_OPEN_BYTES = 11
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_OTHERS = bytes(set(range(256)) - {*_STEPS, ord('"')})


def sound(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Equivalent chunks, none of them empty. Raises Damaged above MAX_DEPTH."""
    rest, depth, is_inside = b"", 0, False
    for chunk in chunks:
        whole, rest = _without_open(rest + chunk)
        depth, is_inside = _nested(whole, depth, is_inside)
        if whole:
            yield whole_escapes(whole)
    if rest:
        yield rest


def _without_open(chunk: bytes) -> tuple[bytes, bytes]:
    # A search from within a row of backslashes would take half an escape for a whole one.
    start = len(chunk[:-_OPEN_BYTES].rstrip(b"\\"))
    match = _OPEN.search(chunk, start)
    return (chunk[: match.start(1)], match[1]) if match else (chunk, b"")


def _nested(chunk: bytes, depth: int, is_inside: bool) -> tuple[int, bool]:
    """How deep the chunk's end is, and whether it is inside a text, from the same of its start."""
    if b"\\" in chunk:
        chunk = chunk.replace(b"\\\\", b"").replace(b'\\"', b"")
    # A text without brackets leaves two quotes that follow each other.
    parts = chunk.translate(None, _OTHERS).replace(b'""', b"").split(b'"')
    depths = list(accumulate(map(_STEPS.__getitem__, b"".join(parts[is_inside::2])), initial=depth))
    if max(depths) > MAX_DEPTH:
        raise Damaged(f"it has more than {MAX_DEPTH} lists and objects in each other")
    return depths[-1], is_inside ^ (len(parts) % 2 == 0)

"""The bytes of JSON files as parsers can take them: with whole characters, and not nested deeply.

The parser of large files holds the path of each value, so that deep nesting takes memory by its
square, and it fails in the whole file where half of a character is escaped.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate

from .source import Damaged

# Lists and objects in each other; no format has more than eight.
MAX_DEPTH = 64
# The escaped halves of a character above U+FFFF.
_HIGH, _LOW = (rb"\\u[dD][%b][0-9a-fA-F]{2}" % digits for digits in (b"89abAB", b"c-fC-F"))
# An escaped backslash, or both halves of a character, or only one of them.
_ESCAPES = re.compile(rb"\\\\|%b%b|(%b|%b)" % (_HIGH, _LOW, _HIGH, _LOW))
# Found in all bytes with only one of them, and in few others: this is faster.
_SUSPECT = re.compile(rb"%b(?!%b)|%b(?<!%b%b)|\\\\u[dD]" % (_HIGH, _LOW, _LOW, _HIGH, _LOW))
# An escape that may continue in the next chunk, and the longest of them.
_PART = rb"\\(?:u[0-9a-fA-F]{0,3})?"
_OPEN = re.compile(rb"(?<!\\)(?:\\\\)*(%b|%b(?:%b)?)\Z" % (_PART, _HIGH, _PART))
_OPEN_BYTES = 11
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_OTHERS = bytes(set(range(256)) - {*_STEPS, ord('"')})


def sound(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks that say the same, none of them empty. Raises Damaged above MAX_DEPTH."""
    rest, depth, is_inside = b"", 0, False
    for chunk in chunks:
        whole, rest = _without_open(rest + chunk)
        depth, is_inside = _nested(whole, depth, is_inside)
        if whole:
            yield whole_characters(whole)
    if rest:
        yield rest


def whole_characters(written: bytes) -> bytes:
    r"""The same with \ufffd for each escaped half of a character."""
    if not _SUSPECT.search(written):
        return written
    return _ESCAPES.sub(lambda found: rb"\ufffd" if found[1] else found[0], written)


def _without_open(chunk: bytes) -> tuple[bytes, bytes]:
    # A search from within a row of backslashes would take half an escape for a whole one.
    begin = len(chunk[:-_OPEN_BYTES].rstrip(b"\\"))
    found = _OPEN.search(chunk, begin)
    return (chunk[: found.start(1)], found[1]) if found else (chunk, b"")


def _nested(chunk: bytes, depth: int, is_inside: bool) -> tuple[int, bool]:
    """How deep the chunk's end is, and whether it is inside a text, from the same of its start."""
    if b"\\" in chunk:
        chunk = chunk.replace(b"\\\\", b"").replace(b'\\"', b"")
    # What is left of a text without brackets are two quotes that follow each other.
    parts = chunk.translate(None, _OTHERS).replace(b'""', b"").split(b'"')
    depths = list(accumulate(map(_STEPS.__getitem__, b"".join(parts[is_inside::2])), initial=depth))
    if max(depths) > MAX_DEPTH:
        raise Damaged(f"it has more than {MAX_DEPTH} lists and objects in each other")
    return depths[-1], is_inside ^ (len(parts) % 2 == 0)

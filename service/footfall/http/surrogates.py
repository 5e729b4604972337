r"""Halves of characters above U+FFFF (surrogates), each of which becomes U+FFFD.

Clients cut texts between two halves, and JSON can escape one alone: "\ud83d" is not a text in
UTF-8, and parsers would reject the whole file or request.
"""

import re

# As JSON escapes them.
HIGH, LOW = (rb"\\u[dD][%b][0-9a-fA-F]{2}" % digits for digits in (b"89abAB", b"c-fC-F"))
# An escaped backslash, or both halves of a character, or only one of them.
_ESCAPES = re.compile(rb"\\\\|%b%b|(%b|%b)" % (HIGH, LOW, HIGH, LOW))
# Found in all bytes with only one of them, and in few others: this is faster.
_SUSPECT = re.compile(rb"%b(?!%b)|%b(?<!%b%b)|\\\\u[dD]" % (HIGH, LOW, LOW, HIGH, LOW))


def whole_escapes(written: bytes) -> bytes:
    r"""The JSON with \ufffd for each escaped half."""
    if not _SUSPECT.search(written):
        return written
    return _ESCAPES.sub(lambda match: rb"\ufffd" if match[1] else match[0], written)


def whole_text(text: str) -> str:
    """A text that UTF-8 can write."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

"""Tags in the HTML of a comment, and what open ones may cost.

An HTML parser opens <b> again in every later block until it is closed, so what a comment may become
grows with the bytes of such tags that are open at the same time. Tags that are closed in the same
block cost nothing: code that another system has coloured has hundreds.
"""

import re
from collections.abc import Sequence

from markdown_it.token import Token

_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)(?:\s[^<>]*)?>", re.IGNORECASE)
# Tags without an end, which open nothing.
_ALONE = frozenset({"br", "hr", "wbr"})
# Tags that a parser opens again.
_REOPENED = frozenset(
    {"a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong"}
    | {"tt", "u"}
)
# Inside of these, and of comments, the end of another tag is none.
_RAW = re.compile(
    r"<(?:[!?]|/?(?:iframe|math|noembed|noframes|noscript|plaintext|script|select|style|svg|template"
    r"|textarea|title|xmp)\b)",
    re.IGNORECASE,
)
# What each tag adds to an open tag's bytes: that tag and its end.
_ELEMENT_BYTES = 30


class Tags:
    """The tags of a comment, block by block: `open` counts those without their end so far, and all
    that is not known for a tag; `reopened` are the most bytes that were to be opened again at any
    time."""

    def __init__(self) -> None:
        self.open = 0
        self.reopened = 0
        self._reopens = 0
        self._stack: list[tuple[str, int]] = []
        self._block: object = None
        self._trusts_ends = True

    def read(self, written: str, tokens: Sequence[Token], index: int) -> None:
        """The HTML of a token: a whole block, or one tag of a paragraph."""
        block = tokens[index] if tokens[index].type == "html_block" else tokens
        if block is not self._block:
            # What a block leaves open is opened again in the next one.
            self._block, self._stack = block, []
        self._trusts_ends = self._trusts_ends and not _RAW.search(written)
        self.open += written.count("<")
        if not self._trusts_ends:
            self._note(len(written) + written.count("<") * _ELEMENT_BYTES)
            return
        for match in _TAG.finditer(written):
            self._tag(match)

    def _tag(self, match: re.Match[str]) -> None:
        name = match[2].lower()
        if name in _ALONE:
            self.open -= 1
        elif not match[1]:
            size = len(match[0]) + _ELEMENT_BYTES if name in _REOPENED else 0
            self._stack.append((name, size))
            self._note(size)
        elif self._stack and self._stack[-1][0] == name:
            _, size = self._stack.pop()
            self._note(-size)
            # Itself and its start.
            self.open -= 2

    def _note(self, size: int) -> None:
        self._reopens += size
        self.reopened = max(self.reopened, self._reopens)

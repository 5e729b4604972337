"""Limits for the rendering of one comment: its cost, and the size of its HTML.

Each costly part has its own limit; these limit the sums, since sixteen thousand harmless formulas
fit in 64 kB. A rejected part stays in the comment as plain text.
"""

from collections.abc import Sequence
from html import escape

from markdown_it.token import Token

from .tags import Tags

# HTML may be this many times as long as its text. A text of & alone becomes five times as long by
# escaping, which is always allowed; six leaves space for paragraphs.
MAX_GROWTH = 6
# Plus this many bytes, so that a short comment may be a table, a formula or highlighted code, which
# becomes ten times as long.
FREE_BYTES = 32_768

MAX_FORMULAS = 100
MAX_FORMULA_CHARACTERS = 8_000
# Some lexers take the square of what listing.py lets through: 0.05 s for the worst code of this
# length. So the limit is for the sum of the squares of all listings' lengths.
MAX_LISTING_CHARACTERS = 2_500
MAX_HTML_TAGS = 300
# A cell is four tokens, and a row of two characters is filled up to the width of the table.
MAX_CELLS = 1_000
# The parser searches for a missing closing bracket to the end of the paragraph; these take 0.2 s.
MAX_LABEL_CHARACTERS = 300_000


def most_bytes(text: str) -> int:
    """How many bytes the HTML of a text may have, in UTF-8."""
    return MAX_GROWTH * len(text.encode()) + FREE_BYTES


class Allowance:
    """The rest of the limits; each method returns False if they are exceeded, or subtracts from
    them."""

    def __init__(self, text: str, *, is_plain: bool = False) -> None:
        bare = len(escape(text, quote=False).encode())
        # A quarter of the rest is reserved for paragraphs and lists, which are always allowed.
        self._markup = (most_bytes(text) - bare) * 3 // 4
        # A plain comment has Markdown alone: no formulas, no highlighting, no HTML tags.
        self._formulas = 0 if is_plain else MAX_FORMULAS
        self._formula_characters = MAX_FORMULA_CHARACTERS
        self._code_squares = 0 if is_plain else MAX_LISTING_CHARACTERS**2
        self._html_tags = -1 if is_plain else MAX_HTML_TAGS
        self.tags = Tags()
        self.cells_left = MAX_CELLS
        self._label_characters = MAX_LABEL_CHARACTERS

    def markup(self, length: int) -> bool:
        """`length` more bytes of HTML that may be left out."""
        if length > self._markup:
            return False
        self._markup -= length
        return True

    def formula(self, length: int) -> bool:
        self._formulas -= 1
        self._formula_characters -= length
        return self._formulas >= 0 and self._formula_characters >= 0

    def code(self, length: int) -> bool:
        if length**2 > self._code_squares:
            return False
        self._code_squares -= length**2
        return True

    def html(self, written: str, tokens: Sequence[Token], index: int) -> bool:
        """Tags that are closed in the same block are free."""
        self.tags.read(written, tokens, index)
        if self.tags.open > self._html_tags:
            # An end without its start would vanish.
            self._html_tags = -1
        return self._html_tags >= 0

    def cells(self, count: int) -> bool:
        self.cells_left -= count
        return self.cells_left >= 0

    def label(self, length: int) -> bool:
        self._label_characters -= length
        return self._label_characters >= 0

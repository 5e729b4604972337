"""What one comment may spend on its rendering, and how many bytes of HTML it may become.

Each costly part is bounded by itself as well; this bounds their sum: sixteen thousand tiny formulas
fit in 64 kB, and each of them is innocent. What is refused here stays in the comment as the words
that its author wrote.
"""

from html import escape

# A text of nothing but & is five times as long when escaped, and that is what is left when all else
# is refused; six leaves room for paragraphs.
MAX_GROWTH = 6
# So that a short comment may be a table, a formula or a listing, which in colours is ten times as
# long.
FREE_BYTES = 32_768

MAX_FORMULAS = 100
MAX_FORMULA_CHARACTERS = 8_000
# The lexers take the square of a listing, or the cube: 0.3 s for the worst of this length, 6 s for
# the worst 10,000 characters. So the squares of all listings are at most that of the longest.
MAX_LISTING = 2_500
MAX_HTML_TAGS = 300
# Each is four tokens, and a row of two characters is filled up to the width of the table.
MAX_CELLS = 1_000
# An opening bracket whose other end is missing is looked for to the end of the paragraph: 0.2 s.
MAX_LABEL_CHARACTERS = 300_000


def most_bytes(text: str) -> int:
    """How many bytes the HTML of a text may have, in UTF-8."""
    return MAX_GROWTH * len(text.encode()) + FREE_BYTES


class Allowance:
    """What is left of it; each method says whether this much more may be, and takes it."""

    def __init__(self, text: str, *, is_plain: bool = False) -> None:
        bare = len(escape(text, quote=False).encode())
        # A quarter of what the words leave is for paragraphs and lists, which are never refused.
        self._markup = (most_bytes(text) - bare) * 3 // 4
        # A plain comment has Markdown alone: no formulas, no colours, no tags written by hand.
        self._formulas = 0 if is_plain else MAX_FORMULAS
        self._formula_characters = MAX_FORMULA_CHARACTERS
        self._code_squares = 0 if is_plain else MAX_LISTING**2
        self._html_tags = 0 if is_plain else MAX_HTML_TAGS
        self.cells_left = MAX_CELLS
        self._label_characters = MAX_LABEL_CHARACTERS
        # Bytes of tags that an HTML parser may open again and again.
        self.reopened = 0

    def markup(self, length: int) -> bool:
        """So many more bytes of HTML that the comment could do without."""
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

    def html(self, tags: int) -> bool:
        self._html_tags -= tags
        return self._html_tags >= 0

    def cells(self, count: int) -> bool:
        self.cells_left -= count
        return self.cells_left >= 0

    def label(self, length: int) -> bool:
        self._label_characters -= length
        return self._label_characters >= 0

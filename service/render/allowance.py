"""What one comment may spend on the costly parts of its rendering.

Each part is bounded by itself as well; this bounds their sum: sixteen thousand tiny formulas fit in
64 kB, and each of them is innocent.
"""

from dataclasses import dataclass

MAX_FORMULAS = 100
MAX_FORMULA_CHARACTERS = 8_000
# The lexers take the square of a listing, or the cube: 0.3 s for the worst 2,500 characters,
# 6 s for the worst 10,000.
MAX_LISTING = 2_500
MAX_CODE_CHARACTERS = 5_000
MAX_HTML_TAGS = 300


@dataclass
class Allowance:
    """What is spent so far; each method says whether this much more may be."""

    formulas: int = 0
    formula_characters: int = 0
    code_characters: int = 0
    html_tags: int = 0

    def formula(self, length: int) -> bool:
        self.formulas += 1
        self.formula_characters += length
        return self.formulas <= MAX_FORMULAS and self.formula_characters <= MAX_FORMULA_CHARACTERS

    def code(self, length: int) -> bool:
        self.code_characters += min(length, MAX_LISTING)
        return length <= MAX_LISTING and self.code_characters <= MAX_CODE_CHARACTERS

    def html(self, tags: int) -> bool:
        self.html_tags += tags
        return self.html_tags <= MAX_HTML_TAGS

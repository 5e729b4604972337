"""Limits for the rules of the Markdown parser: what exceeds one stays plain text.

The parser was not written for hostile texts. A table whose rows have two characters is filled up to
its hundred columns, and the definition of a link is copied to each of two thousand references.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from html import escape

from linkify_it.main import LinkifyIt, Match
from markdown_it import MarkdownIt
from markdown_it.helpers import parseLinkDestination, parseLinkLabel, parseLinkTitle
from markdown_it.rules_block import StateBlock, blockquote, list_block, table
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from .allowance import Allowance

# Ten lists in each other: a list is two levels.
MAX_NESTING_LEVELS = 20
# How often a word may contain "www.": each one starts another search through the whole word.
MAX_WWW_A_WORD = 3

# A bare link that starts with its scheme.
MAX_ADDRESS_CHARACTERS = 2_048
# Full-width marks follow an address without a space, and are part of none.
_WORD = re.compile(r"[^\s（），。；：！？、《》〈〉「」『』【】“”]+")
# Without a scheme, what people mean as an address: it starts with www., it has a path, or its
# domain is one of the usual ones, in lower case. README.md, ASP.NET, 10.pm and "thanks.It works"
# have the form of an address, too.
_NAMES_A_PAGE = re.compile(
    r"(?i:www\.)|[^/?#]+/[^?#]"
    r"|[^/?#]+\.(?:(?:com|edu|gov|info|net|org)(?:\.[a-z]{2})?|co\.[a-z]{2})(?::\d+)?(?:[/?#]|\Z)"
)

_Block = Callable[[StateBlock, int, int, bool], bool]

_DELIMITERS = re.compile(r"(?=[^-]*-)[\s|:-]+")
# The HTML of a link without its attributes' values, including the sanitiser's additions.
_LINK_BYTES = 80
_CELL_BYTES = 10
_ALIGNED_BYTES = 25


def bound(parser: MarkdownIt) -> None:
    # `alt`, which blocks a rule may interrupt, is as in the parser.
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    parser.block.ruler.at(
        "blockquote",
        _shallow(blockquote),
        {"alt": ["paragraph", "reference", "blockquote", "list"]},
    )
    parser.block.ruler.at(
        "list", _shallow(list_block), {"alt": ["paragraph", "reference", "blockquote"]}
    )
    parser.core.ruler.after("linkify", "bounded_links", _links)
    parser.linkify = WordByWord(parser.linkify)
    # `helpers` is no settable attribute; the parser looks it up at each use.
    vars(parser)["helpers"] = Labels()


class WordByWord:
    """Finds bare links word by word: in a whole text some searches take quadratic time."""

    def __init__(self, finder: LinkifyIt) -> None:
        self._finder = finder
        self.pretest = finder.pretest

    def test(self, text: str) -> bool:
        return True

    def match_at_start(self, text: str) -> Match | None:
        word = _WORD.match(text, 0, MAX_ADDRESS_CHARACTERS)
        return self._finder.match_at_start(word[0]) if word else None

    def match(self, text: str) -> list[Match] | None:
        return list(self._matches(text)) or None

    def _matches(self, text: str) -> Iterator[Match]:
        for word in _WORD.finditer(text):
            is_address = any(mark in word[0] for mark in ".:@")
            if not is_address or word[0].count("www.") > MAX_WWW_A_WORD:
                continue
            for match in self._finder.match(word[0]) or ():
                if not match.schema and not _NAMES_A_PAGE.match(match.text):
                    continue
                match.index += word.start()
                match.last_index += word.start()
                yield match


class Labels:
    """The parser's helpers, with a limit for the searches for closing brackets."""

    parseLinkDestination = staticmethod(parseLinkDestination)
    parseLinkTitle = staticmethod(parseLinkTitle)

    def parseLinkLabel(self, state: StateInline, start: int, disableNested: bool = False) -> int:
        allowance: Allowance = state.env["allowance"]
        if not allowance.label(0):
            return -1
        end = parseLinkLabel(state, start, disableNested)
        allowance.label((state.posMax if end < 0 else end) - start)
        return end


def _shallow(rule: _Block) -> _Block:
    """The rule up to MAX_NESTING_LEVELS; deeper, its marks are text. The parser's own limit would
    drop the text."""

    def bounded(state: StateBlock, first: int, last: int, silent: bool) -> bool:
        return state.level < MAX_NESTING_LEVELS and rule(state, first, last, silent)

    return bounded


def _table(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    if first + 2 > last or not _DELIMITERS.fullmatch(_line(state, first + 1)):
        return False
    if silent:
        return table(state, first, last, silent)
    allowance: Allowance = state.env["allowance"]
    delimiters = _line(state, first + 1).strip()
    columns = delimiters.strip("|").count("|") + 1
    cells, row = columns, first + 2
    # Counted up to the limit only; otherwise each rejected table would read all lines to the end.
    while row < last and cells <= allowance.cells_left and not state.isEmpty(row):
        cells, row = cells + columns, row + 1
    each = _ALIGNED_BYTES if ":" in delimiters else _CELL_BYTES
    if not (allowance.cells(cells) and allowance.markup(cells * each)):
        return False
    return table(state, first, last, silent)


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _links(state: StateCore) -> None:
    allowance: Allowance = state.env["allowance"]
    for block in state.tokens:
        if block.children:
            block.children = list(_allowed(block.children, allowance))


def _allowed(tokens: Iterable[Token], allowance: Allowance) -> Iterator[Token]:
    """Links and pictures within the limit; the others become plain text."""
    is_refused = False
    for token in tokens:
        if token.type == "link_open":
            is_refused = not allowance.markup(_length(token))
        if token.type in ("link_open", "link_close") and is_refused:
            continue
        if token.type == "image" and not allowance.markup(_length(token)):
            token = Token("text", "", 0, content=token.content, level=token.level)
        yield token


def _length(token: Token) -> int:
    return _LINK_BYTES + sum(len(escape(str(value)).encode()) for value in token.attrs.values())

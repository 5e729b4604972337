"""TeX between dollars: where a formula begins and ends in Markdown, and its MathML.

The parser behind `mathml` was written for trusted authors: it has macros, it can double its work
at every level, and it fails with whatever Python raises first. Only `mathml` may call it.
"""

import re
from html import escape, unescape
from xml.etree.ElementTree import Element, tostring

from latex2mathml.converter import convert_to_element
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

# A long aligned derivation is about 600 characters.
MAX_LENGTH = 1_000
# Searched again from every opening line, so it bounds a page of nothing but openings.
MAX_LINES = 30

# Definitions can expand without end; \sideset copies its operator, so nesting it is exponential.
_REFUSED = re.compile(
    r"\\(?:(?:re|provide)?newcommand|[egx]?def|newenvironment|DeclareMath|sideset)"
)

_CHARACTER = rf"(?:[^\\$]|\\.){{1,{MAX_LENGTH}}}+"
# As in Pandoc: "$5 and $6" is money, so no space inside the dollars and no digit after them.
_INLINE = re.compile(rf"\$(?!\s)({_CHARACTER})(?<!\s)\$(?!\d)", re.DOTALL)
_DISPLAY = re.compile(rf"\$\$({_CHARACTER})\$\$", re.DOTALL)


def dollars(parser: MarkdownIt) -> None:
    parser.inline.ruler.before("escape", "formula", _inline)
    parser.block.ruler.before(
        "fence", "formula_block", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )


def mathml(tex: str, *, display: bool) -> str | None:
    """The formula as MathML, None if it cannot be had."""
    if len(tex) > MAX_LENGTH or _REFUSED.search(tex):
        return None
    try:
        tree = convert_to_element(tex, display="block" if display else "inline")
        _decode(tree)
        return tostring(tree, encoding="unicode")
    # It has no base class of errors, and lets IndexError, StopIteration, RecursionError (its frames
    # are all Python's, so catching that is sound) and others through: any of them means "not TeX".
    except Exception:
        return None


def source(tex: str, *, display: bool) -> str:
    mark = "$$" if display else "$"
    return escape(f"{mark}{tex}{mark}", quote=False)


def _decode(tree: Element) -> None:
    """Its symbols are character references within text, which serialising would escape again."""
    for element in tree.iter():
        if element.text:
            element.text = unescape(element.text)


def _inline(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "$":
        return False
    display = state.src.startswith("$$", state.pos)
    found = (_DISPLAY if display else _INLINE).match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        token = state.push("formula", "math", 0)
        token.content = found[1].strip()
        token.meta = {"display": display}
    state.pos = found.end()
    return True


def _block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    if state.is_code_block(first) or not _line(state, first).startswith("$$"):
        return False
    lines = _enclosed(state, first, last)
    if lines is None:
        return False
    if not silent:
        state.line = first + len(lines)
        token = state.push("formula_block", "math", 0)
        token.content = "\n".join(lines).strip()[2:-2].strip()
        token.map = [first, state.line]
    return True


def _enclosed(state: StateBlock, first: int, last: int) -> list[str] | None:
    """The lines from an opening `$$` to the one that ends in `$$`."""
    lines: list[str] = []
    for number in range(first, min(last, first + MAX_LINES)):
        if state.sCount[number] < state.blkIndent:
            return None
        lines.append(_line(state, number))
        text = "\n".join(lines).strip()
        # The opening dollars are not the closing ones.
        if "$$" in text[2:]:
            return lines if text.find("$$", 2) == len(text) - 2 and len(text) > 4 else None
    return None


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]

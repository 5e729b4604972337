"""TeX between dollars: finds formulas in Markdown, and converts them to MathML.

latex2mathml was written for trusted authors: it has macros, some input doubles its work at every
level, and it raises any of Python's exceptions. Only `mathml` may call it.
"""

import re
from html import escape, unescape
from xml.etree.ElementTree import Element, tostring

from latex2mathml.converter import convert_to_element
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

# A long aligned derivation has about 600 characters.
MAX_CHARACTERS = 1_000
# The search for the end starts again at every opening line, so its length has to be bounded.
MAX_LINES = 30

# Definitions can expand without end; \sideset copies its operator, so nesting it takes exponential
# time.
_REFUSED = re.compile(
    r"\\(?:(?:re|provide)?newcommand|[egx]?def|newenvironment|DeclareMath|sideset)"
)

_CHARACTER = rf"(?:[^\\$]|\\.){{1,{MAX_CHARACTERS}}}+"
# Within a line and outside of code.
_IN_LINE = rf"(?:[^\\$`\n]|\\[^\n]){{1,{MAX_CHARACTERS}}}+"
# Pandoc's rule: no space inside the dollars and no digit after them, as "$5 and $6" is money. No
# letter is beside them either: $HOME/bin:$PATH.
_INLINE = re.compile(rf"(?<![A-Za-z0-9])\$(?!\s)({_IN_LINE})(?<!\s)\$(?![A-Za-z0-9])")
_DISPLAY = re.compile(rf"\$\$({_CHARACTER})\$\$", re.DOTALL)


def dollars(parser: MarkdownIt) -> None:
    parser.inline.ruler.before("escape", "formula", _inline)
    parser.block.ruler.before(
        "fence", "formula_block", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )


def mathml(tex: str, *, display: bool) -> str | None:
    """The formula as MathML, None if it is too long, rejected or not TeX."""
    if len(tex) > MAX_CHARACTERS or _REFUSED.search(tex):
        return None
    try:
        tree = convert_to_element(tex, display="block" if display else "inline")
        _decode(tree)
        return tostring(tree, encoding="unicode")
    # latex2mathml has no base class for its errors, and raises IndexError, StopIteration,
    # RecursionError (all its frames are Python's, so catching that is safe) and others.
    except Exception:
        return None


def source(tex: str, *, display: bool) -> str:
    mark = "$$" if display else "$"
    return escape(f"{mark}{tex}{mark}", quote=False)


def _decode(tree: Element) -> None:
    """Replace character references in texts by their characters: serialising escapes them again."""
    for element in tree.iter():
        if element.text:
            element.text = unescape(element.text)


def _inline(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "$":
        return False
    display = state.src.startswith("$$", state.pos)
    match = (_DISPLAY if display else _INLINE).match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        token = state.push("formula", "math", 0)
        token.content = match[1].strip()
        token.meta = {"display": display}
    state.pos = match.end()
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
        # Skip the opening dollars.
        if "$$" in text[2:]:
            return lines if text.find("$$", 2) == len(text) - 2 and len(text) > 4 else None
    return None


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]

"""Marks inside a paragraph, as people type them.

`~` and `^` are mostly waves and faces (好耶~, (^_^)), and sometimes a subscript. Readers of
Chinese, Japanese and Korean put no space beside emphasis (**注意：**请看), which CommonMark wants
where a mark stands inside.
"""

import re
import unicodedata
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token
from markdown_it.utils import EnvType

_SCRIPT = re.compile(r"(?<=[A-Za-z0-9)\]}])([~^])([A-Za-z0-9+-]{1,8})\1(?!\1)")
_TAGS = {"~": "sub", "^": "sup"}
# The eyes of faces, (^_^) and (>_<), between which `_` is a mouth.
_FACES = frozenset(("><", "<>", *(eye * 2 for eye in "^;.-+='\"@#$")))


def inline(parser: MarkdownIt) -> None:
    parser.inline = _Inline()
    parser.inline.ruler.after("emphasis", "script", _script)


class _Inline(ParserInline):
    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        state = _State(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


class _State(StateInline):
    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:
        """Beside a full-width letter or mark, `*` and `~~` open and close wherever no space is on
        their inner side, as the extension cjk-friendly has it."""
        delimiters = super().scanDelims(start, canSplitWord)
        before = self.src[start - 1] if start else " "
        end = start + delimiters.length
        after = self.src[end] if end < self.posMax else " "
        if canSplitWord and (_is_wide(before) or _is_wide(after)):
            return Scanned(not after.isspace(), not before.isspace(), delimiters.length)
        if not canSplitWord and before + after in _FACES:
            return Scanned(False, False, delimiters.length)
        return delimiters


@lru_cache(maxsize=4096)
def _is_wide(character: str) -> bool:
    """A letter or mark of East Asian scripts; pictographs are as wide, and none."""
    is_wide = unicodedata.east_asian_width(character) in "WFH"
    return is_wide and unicodedata.category(character)[0] in "LMNP"


def _script(state: StateInline, silent: bool) -> bool:
    match = _SCRIPT.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        mark, tag = match[1], _TAGS[match[1]]
        state.push(f"{tag}_open", tag, 1).markup = mark
        state.push("text", "", 0).content = match[2]
        state.push(f"{tag}_close", tag, -1).markup = mark
    state.pos = match.end()
    return True

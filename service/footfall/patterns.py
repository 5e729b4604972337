"""Regular expressions of operators and of lists, searched by RE2 in linear time.

Python's own engine backtracks: `buy.*viagra` takes quadratic time. RE2 has no lookaround and no
backreferences; a pattern that needs them stops the start.

Operators' patterns are written in JavaScript's syntax, as for Waline, and
translated; `\\w`, `\\d` and `\\b` mean ASCII, and case is ignored.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .setting_texts import quoted

# RE2's limit for one setting's patterns and their cache.
MAX_PATTERN_BYTES = 32 * 1024 * 1024
# RE2's limit for a list's patterns and their cache. Texts that are made to overflow the cache take
# 0.13 ms for 256 bytes; with half of this 0.16 ms, with twice of it 0.07 ms.
MAX_SET_BYTES = 16 * 1024 * 1024
# A pattern that matches all of these matches every comment, and is a mistake.
PROBES = ("x", "7", "\N{CJK UNIFIED IDEOGRAPH-8BCD}", "?!")

# JavaScript's \s; RE2's own is ASCII without the vertical tab.
_SPACES = r"\s\v\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}"
# Letters that mean the same after a backslash in both, or that JavaScript takes literally.
_KNOWN = frozenset("bBdDwWtnrfvAz")
_TOKEN = re.compile(
    r"""\\u\{(?P<point>[0-9A-Fa-f]{1,6})\}
    | \\u(?P<high>[dD][89abAB][0-9A-Fa-f]{2})\\u(?P<low>[dD][c-fC-F][0-9A-Fa-f]{2})
    | \\u(?P<unit>[0-9A-Fa-f]{4})
    | \\c(?P<control>[A-Za-z])
    | \\(?P<property>[pP])\{(?:(?:Script|sc|Script_Extensions|scx|General_Category|gc)=)?
        (?P<value>\w+)\}
    | \\x(?:[0-9A-Fa-f]{2}|\{[0-9A-Fa-f]+\})
    | \\(?P<escaped>.)
    | (?P<empty>\[\^?\])
    | \[\^?
    | \[:\^?\w+:\]
    | .""",
    re.VERBOSE | re.DOTALL,
)
_PARTS = re.compile(r"\\.|\{[^{}]*\}|\[(?:\\.|[^\]\\])*\]|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Patterns:
    """Regular expressions that are searched together. Raises ValueError, which names the pattern
    that cannot be used."""

    sources: tuple[str, ...]
    _compiled: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        translated = []
        for source in self.sources:
            try:
                translated.append(translate(source))
                _compile(translated[-1])
            except ValueError as error:
                words = f"the pattern {quoted(source)} cannot be used: {error}"
                raise ValueError(words) from None
        joined = "|".join(f"(?:{pattern})" for pattern in translated)
        object.__setattr__(self, "_compiled", _compile(joined))

    def search(self, text: str) -> bool:
        """Does one of them match? RE2 releases the GIL, so other threads continue."""
        match = self._compiled.search(text.encode(errors="replace"))
        return match is not None


class PatternSet:
    """Many case-sensitive regular expressions that are searched for at once, in bytes.

    They come from third-party lists: expressions that RE2 does not support are left out.
    """

    def __init__(self, sources: Iterable[str]) -> None:
        # Imported here, because few sites have such lists.
        import re2

        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.never_capture = True
        options.log_errors = False
        options.max_mem = MAX_SET_BYTES
        self._set = re2.Set.SearchSet(options)
        self.sources: list[str] = []
        for source in sources:
            try:
                self._set.Add(source)
            except re2.error:
                continue
            self.sources.append(source)
        self._set.Compile()

    def found(self, text: bytes) -> list[str]:
        """Which of the expressions match somewhere, in no order."""
        return [self.sources[number] for number in self._set.Match(text) or ()]


# A host name, or patterns to search in one.
Domain = str | Patterns


def split(text: str) -> list[str]:
    """Split at commas, also Chinese ones, except those that are escaped or in brackets of any
    kind."""
    parts, depth = [""], 0
    for symbol in _PARTS.findall(text):
        if symbol in (",", "\N{FULLWIDTH COMMA}") and not depth:
            parts.append("")
            continue
        depth += (symbol == "(") - (symbol == ")" and depth > 0)
        parts[-1] += symbol
    return [word for part in parts if (word := part.strip())]


def finds_everything(pattern: str) -> bool:
    patterns = Patterns((pattern,))
    return all(map(patterns.search, PROBES))


def translate(source: str) -> str:
    """Translate a pattern from JavaScript's syntax to RE2's. Raises ValueError."""
    written, is_in_class = [], False
    for token in _TOKEN.finditer(source):
        symbol = token[0]
        if symbol.startswith("\\") and len(symbol) > 1:
            symbol = _escape(token, is_in_class)
        elif is_in_class:
            is_in_class = symbol != "]"
        elif token["empty"]:
            raise ValueError(f"{symbol} means different things to different engines")
        else:
            is_in_class = symbol.startswith("[")
        written.append(symbol)
    return "".join(written)


def _escape(match: re.Match[str], is_in_class: bool) -> str:
    if match["escaped"]:
        return _escaped(match["escaped"], is_in_class)
    if match["property"]:
        return rf"\{match['property']}{{{match['value']}}}"
    if match["control"]:
        return rf"\x{{{ord(match['control']) % 32:x}}}"
    if match["high"]:
        pair = bytes.fromhex(match["high"] + match["low"])
        return rf"\x{{{ord(pair.decode('utf-16-be')):x}}}"
    if digits := match["point"] or match["unit"]:
        if 0xD800 <= int(digits, 16) <= 0xDFFF:
            raise ValueError(f"{match[0]} is half a character")
        return rf"\x{{{digits}}}"
    return match[0]


def _escaped(letter: str, is_in_class: bool) -> str:
    match letter:
        case "s":
            return _SPACES if is_in_class else f"[{_SPACES}]"
        case "S" if not is_in_class:
            return f"[^{_SPACES}]"
        case "b" if is_in_class:
            return r"\x08"
        case "0":
            return r"\x00"
        case _ if letter in "123456789k":
            raise ValueError("it refers back to what was found, which RE2 does not do")
        case _ if not letter.isascii():
            return letter
        case _ if letter.isalpha() and letter not in _KNOWN | {"S"}:
            raise ValueError(f"\\{letter} is not known")
    return f"\\{letter}"


def _compile(pattern: str) -> Any:
    # Imported here, because few sites have patterns.
    import re2

    options = re2.Options()
    options.case_sensitive = False
    options.never_capture = True
    options.log_errors = False
    options.max_mem = MAX_PATTERN_BYTES
    try:
        return re2.compile(pattern, options)
    except UnicodeEncodeError:
        raise ValueError("it holds half a character") from None
    except re2.error as error:
        raise ValueError(_reason(error)) from None


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else b""
    text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
    if re.search(r"\(\?<?[=!]$", text):
        return f"it looks ahead or behind with {text.split()[-1]}, which RE2 does not do"
    if "too large" in text:
        return f"all patterns together take more than {MAX_PATTERN_BYTES >> 20} MB"
    return text

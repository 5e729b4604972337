"""Operators' regular expressions, by an engine that no text can keep busy for long.

Python's own backtracks: with `buy.*viagra` the time grows with the square of a comment. RE2's grows
with its length. It has no lookaround and no backreferences, and what it cannot do stops the start.

Patterns are written as for the reference, which is JavaScript: its spelling of characters is
understood, and `\\w`, `\\d` and `\\b` mean ASCII, while upper and lower case are one everywhere.
"""

import re
from dataclasses import dataclass, field
from typing import Any

# For the patterns of one setting; the cache that makes them fast grows so far and no further.
MAX_BYTES = 32 * 1024 * 1024
# What a pattern finds in all of these it finds in every comment.
PROBES = ("x", "7", "\N{CJK UNIFIED IDEOGRAPH-8BCD}", "?!")

# A space in JavaScript; RE2's \s is ASCII, and has no vertical tab.
_SPACES = (
    r"\s\v\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}"
)  # fmt: skip
# Letters that mean the same after a backslash there and here, or mean nothing there.
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
    """Regular expressions that are looked for together, in upper and lower case.

    Raises ValueError that names the pattern that cannot be used.
    """

    sources: tuple[str, ...]
    _compiled: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        translated = []
        for source in self.sources:
            try:
                translated.append(translate(source))
                _compile(translated[-1])
            except ValueError as error:
                raise ValueError(f"the pattern {source!r} cannot be used: {error}") from None
        joined = "|".join(f"(?:{each})" for each in translated)
        object.__setattr__(self, "_compiled", _compile(joined))

    def search(self, text: str) -> bool:
        """Is one of them in the text? Other threads go on meanwhile."""
        found = self._compiled.search(text.encode(errors="replace"))
        return found is not None


# A host name, or patterns that are looked for in one.
Domain = str | Patterns


def split(text: str) -> list[str]:
    """What lies between commas, but for those that are escaped or in brackets of any kind."""
    parts, depth = [""], 0
    for token in _PARTS.findall(text):
        if token == "," and not depth:
            parts.append("")
            continue
        depth += (token == "(") - (token == ")" and depth > 0)
        parts[-1] += token
    return [word for part in parts if (word := part.strip())]


def finds_everything(pattern: str) -> bool:
    found = Patterns((pattern,))
    return all(map(found.search, PROBES))


def translate(source: str) -> str:
    """A pattern in JavaScript's spelling, in RE2's. Raises ValueError."""
    written, is_in_class = [], False
    for found in _TOKEN.finditer(source):
        token = found[0]
        if token.startswith("\\") and len(token) > 1:
            token = _escape(found, is_in_class)
        elif is_in_class:
            is_in_class = token != "]"
        elif found["empty"]:
            raise ValueError(f"{token} means different things to different engines")
        else:
            is_in_class = token.startswith("[")
        written.append(token)
    return "".join(written)


def _escape(found: re.Match[str], is_in_class: bool) -> str:
    if found["escaped"]:
        return _escaped(found["escaped"], is_in_class)
    if found["property"]:
        return rf"\{found['property']}{{{found['value']}}}"
    if found["control"]:
        return rf"\x{{{ord(found['control']) % 32:x}}}"
    if found["high"]:
        pair = bytes.fromhex(found["high"] + found["low"])
        return rf"\x{{{ord(pair.decode('utf-16-be')):x}}}"
    if digits := found["point"] or found["unit"]:
        if 0xD800 <= int(digits, 16) <= 0xDFFF:
            raise ValueError(f"{found[0]} is half a character")
        return rf"\x{{{digits}}}"
    return found[0]


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
    # Here, since few sites have patterns.
    import re2

    options = re2.Options()
    options.case_sensitive = False
    options.never_capture = True
    options.log_errors = False
    options.max_mem = MAX_BYTES
    try:
        return re2.compile(pattern, options)
    except UnicodeEncodeError:
        raise ValueError("it holds half a character") from None
    except re2.error as error:
        raise ValueError(_reason(error)) from None


def _reason(error: Exception) -> str:
    said = error.args[0] if error.args else b""
    text = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    if re.search(r"\(\?<?[=!]$", text):
        return f"it looks ahead or behind with {text.split()[-1]}, which RE2 does not do"
    if "too large" in text:
        return f"all patterns together take more than {MAX_BYTES >> 20} MB"
    return text

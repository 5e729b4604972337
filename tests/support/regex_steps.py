"""How many steps Python's engine takes for a regular expression, counted and not timed.

It walks the parsed expression as the engine does: each comparison with a character is a step, and
what has failed is retried in another way.
"""

import re
import sys
from collections.abc import Iterator
from itertools import chain, islice
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

Nodes = Any
SINGLE = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)
REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
sys.setrecursionlimit(20_000)


class Enough(Exception):
    """More steps than anybody wants to see."""


class Steps:
    """The steps of one expression over one text."""

    def __init__(self, pattern: "re.Pattern[Any]", text: str, most: int) -> None:
        is_bytes = isinstance(pattern.pattern, bytes)
        source = pattern.pattern.decode("latin-1") if is_bytes else pattern.pattern
        flags = pattern.flags & ~(re.UNICODE if is_bytes else 0)
        self._tree = list(parser.parse(source, flags))
        self._text, self._most, self.number = text, most, 0
        self._ignores_case = bool(flags & re.IGNORECASE)

    def search(self, *, is_anchored: bool, to_the_end: bool) -> int:
        """Try it at each place, or at the first alone; the number of steps."""
        for start in range(1 if is_anchored else len(self._text) + 1):
            for end in self._walk(self._tree, 0, start):
                if not to_the_end or end == len(self._text):
                    return self.number
        return self.number

    def _step(self) -> None:
        self.number += 1
        if self.number > self._most:
            raise Enough

    def _walk(self, nodes: Nodes, index: int, at: int) -> Iterator[int]:
        if index == len(nodes):
            yield at
            return
        for end in self._one(nodes[index][0], nodes[index][1], at):
            yield from self._walk(nodes, index + 1, end)

    def _one(self, kind: Any, of: Any, at: int) -> Iterator[int]:
        if kind in SINGLE or kind is op.AT:
            self._step()
        if kind in REPEATS:
            least, most, body = of
            return self._repeat(kind, least, most, list(body), at)
        if kind is op.BRANCH:
            return chain.from_iterable(self._walk(list(each), 0, at) for each in of[1])
        if kind is op.SUBPATTERN:
            return self._walk(list(of[-1]), 0, at)
        if kind is op.ATOMIC_GROUP:
            return islice(self._walk(list(of), 0, at), 1)
        return iter([at + (kind in SINGLE)] if self._holds(kind, of, at) else [])

    def _holds(self, kind: Any, of: Any, at: int) -> bool:
        if kind in SINGLE:
            return at < len(self._text) and self._is(kind, of, self._text[at])
        if kind is op.AT:
            return self._is_place(of, at)
        assert kind in (op.ASSERT, op.ASSERT_NOT), kind
        direction, body = of
        # One that looks back is as long as what it looks for.
        start = at if direction > 0 else max(0, at - body.getwidth()[1])
        found = next(self._walk(list(body), 0, start), None) is not None
        return found == (kind is op.ASSERT)

    def _repeat(self, kind: Any, least: int, most: int, body: Nodes, at: int) -> Iterator[int]:
        if len(body) == 1 and body[0][0] in SINGLE:
            yield from self._run(kind, least, most, body[0], at)
            return
        is_lazy = kind is op.MIN_REPEAT
        if least <= 0 and is_lazy:
            yield at
        if most > 0:
            for end in self._walk(body, 0, at):
                if end > at or least > 0:
                    yield from self._repeat(kind, least - 1, most - 1, body, end)
        if least <= 0 and not is_lazy:
            yield at

    def _run(self, kind: Any, least: int, most: int, single: Any, at: int) -> Iterator[int]:
        end = at
        if kind is op.MIN_REPEAT:
            while True:
                if end - at >= least:
                    yield end
                if end - at >= most or next(self._one(single[0], single[1], end), None) is None:
                    return
                end += 1
        while end - at < most and next(self._one(single[0], single[1], end), None) is not None:
            end += 1
        ends = range(end, at + least - 1, -1)
        yield from ends[:1] if kind is op.POSSESSIVE_REPEAT else ends

    def _is(self, kind: Any, of: Any, character: str) -> bool:
        if kind is op.ANY:
            return True
        if kind is op.IN:
            return self._is_in(of, character)
        cases = {character}
        if self._ignores_case:
            cases |= {character.lower(), character.upper()}
        return (chr(of) in cases) == (kind is op.LITERAL)

    def _is_in(self, items: Any, character: str) -> bool:
        negates = items[0][0] is op.NEGATE
        found = any(self._is_item(kind, of, character) for kind, of in items)
        return found != negates

    def _is_item(self, kind: Any, of: Any, character: str) -> bool:
        if kind is op.LITERAL:
            return self._is(kind, of, character)
        if kind is op.RANGE:
            return any(of[0] <= ord(each) <= of[1] for each in {character, character.lower()})
        return kind is op.CATEGORY and re.fullmatch(CATEGORIES[of], character) is not None

    def _is_place(self, of: Any, at: int) -> bool:
        if of in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
            return at == 0
        if of in (op.AT_END, op.AT_END_STRING):
            return at == len(self._text)
        around = [self._text[n : n + 1].isalnum() if n >= 0 else False for n in (at - 1, at)]
        return (around[0] != around[1]) == (of is op.AT_BOUNDARY)


CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}

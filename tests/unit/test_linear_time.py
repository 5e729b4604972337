"""Every regular expression of the service takes time in proportion to what it reads.

Python's engine backtracks, so `\\s*\\s*x` takes a hundred times as long for ten times as many
blanks, and a stranger's file or comment would keep a worker busy. Steps are counted for texts that
repeat what an expression is about.
"""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import footfall
from footfall.transfer import formats
from tests.support.regex_steps import Enough, Steps

SERVICE = Path(footfall.__file__).parent
# Ways to use an expression that try it at the first place alone.
ANCHORED = {"match", "fullmatch"}
ANYWHERE = {"search", "sub", "subn", "findall", "finditer", "split"}
SHORT, TIMES = 16, 10
# Three quarters of a tenfold text may be longer than a first stretch that costs nothing.
MOST_TIMES = 2 * TIMES
# A text is an operator's own, or the answer of a Redis or of a server under test, not a stranger's.
OTHERS = {
    "footfall.patterns._PARTS",
    "footfall.render.nunjucks._TAG",
    "footfall.driver.replies._IN_SCRIPT",
}


def expressions() -> Iterator[tuple[str, "re.Pattern[Any]", set[str]]]:
    """Each one with its name and the ways in which it is used."""
    used = uses()
    for found in pkgutil.walk_packages(footfall.__path__, "footfall."):
        if found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern) and module.__name__ + "." + name not in OTHERS:
                yield f"{module.__name__}.{name}", value, used.get((module.__name__, name), set())
    signs = [sign for format in formats.FORMATS for sign in format.signs]
    for sign in (*signs, *(each[-1] for each in formats._ELSEWHERE)):
        yield f"formats {sign!r}", re.compile(sign), {"search"}


def written_in_place() -> Iterator[tuple[str, "re.Pattern[Any]", set[str]]]:
    """Those of re.search("…", text)."""
    for path in SERVICE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(
                    ast.Attribute(ast.Name("re"), way), [ast.Constant(str() | bytes() as of), *_]
                ) if way in ANCHORED | ANYWHERE:
                    yield f"{path.name}:{node.lineno}", re.compile(of), {way}


def uses() -> dict[tuple[str, str], set[str]]:
    """Modules and names -> the methods that the module calls on it, or hands on."""
    found: dict[tuple[str, str], set[str]] = {}
    for path in SERVICE.rglob("*.py"):
        module = ".".join(path.relative_to(SERVICE.parent).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                name = module.removesuffix(".__init__"), node.value.id
                found.setdefault(name, set()).add(node.attr)
    return found


def texts(pattern: "re.Pattern[Any]", size: int) -> Iterator[str]:
    """What the expression is about, again and again, and then what it cannot want."""
    written = pattern.pattern
    source = written if isinstance(written, str) else written.decode("latin-1")
    words = set(re.findall(r"[A-Za-z]{2,8}", source))
    marks = set(re.findall(r"[^\w\\]", source)) | set(" a0.:-\n")
    for each in (*words, *marks, *(mark + "a" for mark in marks)):
        yield each * (size // len(each)) + "\0"


def steps(pattern: "re.Pattern[Any]", ways: set[str], text: str, most: int) -> int:
    is_anchored = not ways & ANYWHERE
    to_the_end = is_anchored and "match" not in ways
    return Steps(pattern, text, most).search(is_anchored=is_anchored, to_the_end=to_the_end)


def test_ten_times_the_text_takes_about_ten_times_the_steps() -> None:
    slow, number = [], 0
    for name, pattern, ways in (*expressions(), *written_in_place()):
        number += 1
        for short, long in zip(texts(pattern, SHORT), texts(pattern, SHORT * TIMES), strict=True):
            few = steps(pattern, ways, short, 1_000_000)
            try:
                steps(pattern, ways, long, MOST_TIMES * (few + SHORT))
            except Enough:
                slow.append((name, short[:4]))
                break
    assert number > 100
    assert slow == []


def test_a_slow_expression_is_found_out() -> None:
    blanks = re.compile(r"\s*(#.*\n)?\s*[\[{]")
    few, many = (steps(blanks, {"match"}, " " * size, 1_000_000) for size in (40, 400))
    assert many > 50 * few

"""The list of attacks that the tests in this folder try, read from their docstrings."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent

_PARTS = re.compile(r"Who:\s+(.+?)\s+What:\s+(.+?)\s+Instead:\s+(.+)", re.DOTALL)


class Attack(NamedTuple):
    """One test's row: who tries what, and what happens instead."""

    test: str
    who: str
    what: str
    instead: str


def tests() -> Iterator[tuple[str, str]]:
    """(name, docstring) of every test in this folder."""
    for path in sorted(HERE.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if node.name.startswith("test_"):
                yield f"{path.name}::{node.name}", ast.get_docstring(node) or ""


def attacks() -> Iterator[Attack]:
    """A row for each test. Raises ValueError for a test that does not say all three."""
    for name, docstring in tests():
        match = _PARTS.fullmatch(docstring)
        if match is None:
            raise ValueError(f"{name} needs a docstring of the form: Who: … What: … Instead: …")
        yield Attack(name, *(" ".join(part.split()) for part in match.groups()))

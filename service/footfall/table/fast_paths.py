"""The paths of operations, and which of these have the fast path.

A fixed path is looked up in a dictionary, then paths with variables, in the order of Starlette's
router.
"""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from starlette.routing import compile_path

from .operations import Operations
from .rows import Row
from .variants import Variant

# Method -> the operations of a path, and their variant.
Methods = Mapping[bytes, tuple[Sequence[Row], Variant]]


class FastPaths:
    def __init__(self, operations: Operations) -> None:
        # Those of other paths are empty, so that a variable path does not take their requests.
        self._fixed = dict[bytes, Methods]()
        self._variable = list[tuple[re.Pattern[str], Methods]]()
        heads = []
        for prefix, paths in operations.items():
            for path, rows in paths.items():
                url, methods = prefix.path + path, _fast(rows, prefix.variant)
                if "{" in path:
                    self._variable.append((compile_path(url)[0], methods))
                    heads.append(url.partition("{")[0].encode())
                else:
                    self._fixed.setdefault(url.encode(), methods)
        # What stands before the first variable part of a path.
        self._heads = tuple(heads)

    def find(self, path: bytes) -> tuple[Methods, Mapping[str, str]]:
        """With what stands in the path's variable parts."""
        methods = self._fixed.get(path)
        if methods is not None:
            return methods, {}
        if path.startswith(b"//"):
            # As middleware.py has it.
            return self.find(b"/" + path.lstrip(b"/"))
        if path.startswith(self._heads) and path.isascii():
            # uvicorn decodes it in the same way.
            text = unquote(path.decode())
            for pattern, methods in self._variable:
                if match := pattern.match(text):
                    return methods, match.groupdict()
        return {}, {}


def _fast(rows: Mapping[str, Sequence[Row]], variant: Variant) -> Methods:
    return {
        method.encode(): (same, variant)
        for method, same in rows.items()
        if variant.is_open and any(row.fast for row in same)
    }

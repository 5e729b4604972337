"""Which comments of a page reply to which, and which of them no page could have.

Every reply hangs below a root of its page, and replies to that root or to another reply below it.
The comment that it replies to may be gone; its root may not. Only ids are in memory: some 400 bytes
for each comment of one page.
"""

from collections.abc import Iterator
from typing import NamedTuple

# The short ids of the parent and the root of a reply; nothing for a root.
Above = tuple[str, ...]


class Stray(NamedTuple):
    """A reply that no page could have, where it was last met, and its problem."""

    id: str
    line: int
    why: str


class Threads:
    """The threads of one page; of a comment that is added twice, the later row counts."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[Above, int]] = {}

    def __contains__(self, id: str) -> bool:
        return id in self._found

    def add(self, id: str, above: Above, line: int = 0) -> None:
        self._found[id] = above, line

    def strays(self) -> Iterator[Stray]:
        for id, (above, line) in self._found.items():
            if above and (why := self._wrong(id, *above)):
                yield Stray(id, line, why)

    def _wrong(self, id: str, parent: str, root: str) -> str:
        if root not in self._found:
            return "its root is missing"
        if self._found[root][0]:
            return "its root is a reply itself"
        if parent == id:
            return "it replies to itself"
        if parent != root and parent in self._found and self._root_of(parent) != root:
            return "it replies to a comment of another thread"
        return ""

    def _root_of(self, id: str) -> str:
        above, _ = self._found[id]
        return above[1] if above else id

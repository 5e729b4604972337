"""Renders comments in a thread, so that the event loop goes on answering.

There is one thread only, because Python runs one at a time, and each further one would slow the
event loop down. With one, a view waits a few milliseconds while a comment of a second is rendered.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import inf
from typing import NamedTuple, TypeVar

from ..errors import Busy
from ..patterns import Patterns
from ..render.pictures import ALL_PICTURES, Pictures

# Texts that may wait to be rendered: sixteen of the longest comments, half a second each.
MAX_WAITING_CHARACTERS = 16 * 16_384

T = TypeVar("T")


class Made(NamedTuple):
    """A rendered text: safe HTML, browser and system by the user agent, and whether it has
    FORBIDDEN_WORDS."""

    html: str
    browser: str
    os: str
    has_forbidden_words: bool


class Renderer:
    """`pictures` says which pictures in comments this site allows."""

    def __init__(self, pictures: Pictures = ALL_PICTURES) -> None:
        self.pictures = pictures
        self._thread = ThreadPoolExecutor(1, "render")
        self._waiting = 0
        # When the modules for rendering were loaded, by time.perf_counter(): -inf before the first
        # comment, inf while they are being loaded.
        self._loaded_at = -inf

    async def make(self, text: str, ua: str, forbidden: Patterns | None) -> Made:
        """Raises Busy when too much is waiting already."""
        if self._waiting >= MAX_WAITING_CHARACTERS:
            raise Busy()
        self._waiting += len(text)
        is_first = self._loaded_at == -inf
        if is_first:
            self._loaded_at = inf
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._thread, _make, text, ua, forbidden, self.pictures
            )
        finally:
            self._waiting -= len(text)
            if is_first:
                self._loaded_at = time.perf_counter()

    async def make_all(self, texts: Sequence[tuple[str, str]]) -> list[Made]:
        """Of texts and user agents that nobody waits for, one after the other."""
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, lambda: [_make(text, ua, None, self.pictures) for text, ua in texts]
        )

    async def run(self, work: Callable[[], T]) -> T:
        """Do something else that would hold the event loop up, in its turn. Raises Busy."""
        if self._waiting >= MAX_WAITING_CHARACTERS:
            raise Busy()
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def was_loading(self, since: float) -> bool:
        """Were the modules for rendering loaded after this moment of time.perf_counter()?

        The first comment waits for them, and should not be logged as a slow request.
        """
        return since < self._loaded_at


def _make(text: str, ua: str, forbidden: Patterns | None, pictures: Pictures) -> Made:
    # Imported here, because they take 25 MB, which a process that never renders can save.
    from ..render.agent import describe
    from ..render.markdown import render

    browser, os = describe(ua)
    is_forbidden = forbidden is not None and forbidden.search(text)
    return Made(render(text, pictures), browser, os, is_forbidden)

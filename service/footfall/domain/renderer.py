"""What makes a comment of a text, in one thread beside the event loop: views go on meanwhile.

One, because the interpreter runs one at a time anyway, and several that compute would take turns
with the event loop: with one, a view waits a few milliseconds behind a comment that takes a second.
"""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from math import inf
from typing import NamedTuple

from ..errors import Busy
from ..patterns import Patterns
from ..render.pictures import ALL_PICTURES, Pictures

# Characters that may wait to be rendered: sixteen of the longest comments, half a second each.
MAX_WAITING = 16 * 16_384


class Made(NamedTuple):
    """Safe HTML, the browser and system that a user agent tells, and is the text one to hold?"""

    html: str
    browser: str
    os: str
    has_forbidden_words: bool


class Renderer:
    """`pictures` says how this site has those of its comments."""

    def __init__(self, pictures: Pictures = ALL_PICTURES) -> None:
        self.pictures = pictures
        self._thread = ThreadPoolExecutor(1, "render")
        self._waiting = 0
        # When what renders was there for the first time: never yet, and not while it is coming.
        self._loaded_at = -inf

    async def make(self, text: str, ua: str, forbidden: Patterns | None) -> Made:
        """Raises Busy when too many are waiting already."""
        if self._waiting >= MAX_WAITING:
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

    def was_loading(self, since: float) -> bool:
        """Was what renders loaded after this moment of time.perf_counter()?

        The first comment waits for it, and is no slow request: nothing is the matter with it.
        """
        return since < self._loaded_at


def _make(text: str, ua: str, forbidden: Patterns | None, pictures: Pictures) -> Made:
    # Here, because Markdown, listings and user agents are 25 MB that a process which only counts
    # and shows need not have.
    from ..render.agent import describe
    from ..render.markdown import render

    browser, os = describe(ua)
    is_forbidden = forbidden is not None and forbidden.search(text)
    return Made(render(text, pictures), browser, os, is_forbidden)

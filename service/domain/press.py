"""What makes a comment of a text, in one thread beside the event loop: views go on meanwhile.

One, because the interpreter runs one at a time anyway, and several that compute would take turns
with the event loop: with one, a view waits a few milliseconds behind a comment that takes a second.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from ..errors import Busy
from ..render.pictures import ALL_PICTURES, Pictures

# Characters that may wait to be rendered: sixteen of the longest comments, half a second each.
MAX_WAITING = 16 * 16_384


class Press:
    """`pictures` says how this site has those of its comments."""

    def __init__(self, pictures: Pictures = ALL_PICTURES) -> None:
        self.pictures = pictures
        self._thread = ThreadPoolExecutor(1, "render")
        self._waiting = 0

    async def make(self, text: str, ua: str) -> tuple[str, str, str]:
        """Markdown as safe HTML, and what a user agent tells: browser and system.

        Raises Busy when too many are waiting already.
        """
        if self._waiting >= MAX_WAITING:
            raise Busy()
        self._waiting += len(text)
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._thread, _make, text, ua, self.pictures
            )
        finally:
            self._waiting -= len(text)


def _make(text: str, ua: str, pictures: Pictures) -> tuple[str, str, str]:
    # Here, because Markdown, listings and user agents are 36 MB that a process which only counts
    # and shows need not have.
    from ..render.agent import describe
    from ..render.markdown import render

    return render(text, pictures), *describe(ua)

"""A renderer that is stopped, so that tests see the order of waiting clients."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from footfall.process import renderer
from footfall.process.renderer import RenderedText, Renderer
from footfall.render.pictures import Pictures


class Stopped:
    """`texts` are in the order in which they were rendered; none is done before `go`."""

    def __init__(self) -> None:
        self.texts = list[str]()
        self._may_go = threading.Event()

    def go(self) -> None:
        self._may_go.set()

    def make(self, text: str, ua: str, pictures: Pictures) -> RenderedText:
        self.texts.append(text)
        assert self._may_go.wait(60)
        return RenderedText(f"<p>{text}</p>", "", "", False)


@contextmanager
def stopped(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stopped]:
    found = Stopped()
    with monkeypatch.context() as patched:
        patched.setattr(renderer, "_make", found.make)
        try:
            yield found
        finally:
            found.go()


async def until_waiting(renderer: Renderer, number: int) -> None:
    """Until so many turns are taken or waited for."""
    pool = renderer._pool
    async with asyncio.timeout(60):
        while pool._running + len(pool._waiting) < number:
            await asyncio.sleep(0.001)

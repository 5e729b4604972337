"""Renders comments in a thread, so that the event loop continues answering.

There is one thread only, because Python runs one at a time, and each further one would slow the
event loop down. With one, a view waits a few milliseconds while a comment of a second is rendered.

Clients take turns by the length of their texts, and each has a share of the queue: a client that
sends many long texts waits for its own, others for one of them at most.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import inf
from typing import NamedTuple, TypeVar

from ..errors import BadRequest
from ..limits.clients import BACKGROUND, PoolClient
from ..limits.pool import Pool
from ..patterns import Patterns
from ..render.pictures import Pictures

NO_TEXT = "comment can not be blank"

# What a text costs however short it is, in characters.
EACH_CHARACTERS = 100
# Background texts are rendered in pieces of this many characters.
PIECE_CHARACTERS = 4_096

T = TypeVar("T")
# An author's name and link, None for what was not entered.
Names = tuple[str | None, str | None]
# In the texts that readers read of a comment, and its HTML.
Search = Callable[[Sequence[str], str], Sequence[str]]


class RenderedText(NamedTuple):
    """A rendered text: safe HTML, browser and system by the user agent, whether it has
    FORBIDDEN_WORDS, and the bans that it matches."""

    html: str
    browser: str
    os: str
    has_forbidden_words: bool = False
    banned: Sequence[str] = ()


class Renderer:
    def __init__(self, pool: Pool) -> None:
        """`pool` is of characters, and gives one turn at a time."""
        self._thread = ThreadPoolExecutor(pool.at_once, "render")
        self._pool = pool
        # When the modules for rendering were loaded, by time.perf_counter(): -inf before the first
        # comment, inf while they are being loaded.
        self._loaded_at = -inf

    async def make(
        self,
        text: str,
        ua: str,
        pictures: Pictures,
        forbidden: Patterns | None,
        client: PoolClient,
        banned: Search | None = None,
        names: Names = (None, None),
    ) -> RenderedText:
        """`pictures`: which of them the site allows; `banned` finds the bans that a comment
        matches, and `names` are its author's.

        Raises BadRequest for a text of which nothing is seen, TooManyAtOnce for a client with too
        much in the queue, and Busy.
        """

        def work() -> RenderedText:
            from ..render.reading import names_of, shows_nothing, texts_of

            made = _make(text, ua, pictures)
            if shows_nothing(made.html):
                raise BadRequest({"comment": NO_TEXT})
            if not (forbidden or banned):
                return made
            # FORBIDDEN_WORDS are searched in the comment alone, as Waline does.
            texts = texts_of(text, made.html)
            return made._replace(
                has_forbidden_words=forbidden is not None and any(map(forbidden.search, texts)),
                banned=banned((*texts, *names_of(*names)), made.html) if banned else (),
            )

        is_first = self._loaded_at == -inf
        if is_first:
            self._loaded_at = inf
        try:
            return await self.run(work, client, len(text) + EACH_CHARACTERS)
        finally:
            if is_first:
                self._loaded_at = time.perf_counter()

    async def make_all(
        self, texts: Sequence[tuple[str, str]], pictures: Pictures
    ) -> list[RenderedText]:
        """Render texts with their user agents in the background."""
        made = list[RenderedText]()
        for piece in _pieces(texts):
            work = partial(_make_each, piece, pictures)
            made += await self.run(work, BACKGROUND, PIECE_CHARACTERS)
        return made

    async def run(
        self, work: Callable[[], T], client: PoolClient, characters: int = PIECE_CHARACTERS
    ) -> T:
        """Run work that would block the event loop for as long as this many characters, when it is
        the client's turn. Raises TooManyAtOnce, Busy."""
        async with self._pool.turn(client, characters):
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def run_behind(self, work: Callable[[], T]) -> T:
        """Run background work, which gives way to what readers wait for."""
        return await self.run(work, BACKGROUND)

    def was_loading(self, since: float) -> bool:
        """Were the modules for rendering loaded after this moment of time.perf_counter()?

        The first comment waits for them, and should not be logged as a slow request.
        """
        return since < self._loaded_at


def _pieces(texts: Sequence[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """In order; a piece ends with the text that fills it."""
    piece, characters = list[tuple[str, str]](), 0
    for text in texts:
        piece.append(text)
        characters += len(text[0]) + EACH_CHARACTERS
        if characters >= PIECE_CHARACTERS:
            yield piece
            piece, characters = [], 0
    if piece:
        yield piece


def _make_each(texts: Sequence[tuple[str, str]], pictures: Pictures) -> list[RenderedText]:
    return [_make(text, ua, pictures) for text, ua in texts]


def _make(text: str, ua: str, pictures: Pictures) -> RenderedText:
    # Imported here, because they take 25 MB, which a process that never renders can save.
    from ..render.agent import describe
    from ..render.markdown import render

    browser, os = describe(ua)
    return RenderedText(render(text, pictures), browser, os)

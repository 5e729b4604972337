"""What the script for a page finds, and the comments that it makes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, repeat
from typing import Any, NamedTuple, TypeVar, cast

from ..model import Body, Shown, Status
from . import codec
from .ids import split

T = TypeVar("T")

# An id that no comment has.
NOBODY = "-"

# Of tuples that have all the fields, without looking: a page has hundreds of them.
_body: Callable[[Sequence[bytes]], Body] = partial(tuple.__new__, Body)
_shown: Callable[[tuple[Any, ...]], Shown] = partial(tuple.__new__, Shown)


class Found(NamedTuple):
    """The reply of lua/comments/page.lua; its header says more."""

    version: bytes
    visible: int
    roots_total: int
    pinned: int
    ids: bytes
    bodies: Sequence[bytes | None]
    replies: Sequence[int]
    further: Sequence[int]
    likes: Sequence[bytes | None]
    statuses: Sequence[bytes | None]

    def shown(self, path: str, page: str) -> tuple[Shown, ...]:
        """Roots, each with its replies behind it."""
        is_reply = self._by_root(repeat(False), True)
        is_pinned: Iterable[bool] = repeat(False)
        if self.pinned:
            is_pinned = self._by_root(chain(repeat(True, self.pinned), repeat(False)), False)
        ids = [short + page for short in self.ids.decode().split()]
        is_whole = all(self.bodies)
        bodies = cast(Iterable[bytes], self.bodies)
        if not is_whole:
            bodies = self._filled(ids, is_reply)
        comments = map(
            _shown,
            zip(
                ids,
                repeat(path),
                [_body(body.split(b"\n")) for body in bodies],
                [int(likes or 0) for likes in self.likes] or repeat(0),
                [_status(status) for status in self.statuses] or repeat("approved"),
                is_pinned,
                is_reply,
                repeat(False) if is_whole else [body == b"" for body in self.bodies],
                self._by_root(self.further, 0) if self.further else repeat(0),
                strict=False,
            ),
        )
        return tuple(comments if is_whole else self._there(comments))

    def _by_root(self, values: Iterable[T], of_replies: T) -> list[T]:
        """For each comment the next of these values if it is a root, else always the same."""
        all_values = list[T]()
        for replies, value in zip(self.replies, values, strict=False):
            all_values += (value, *[of_replies] * replies)
        return all_values

    def _filled(self, ids: Iterable[str], is_reply: Iterable[bool]) -> Iterator[bytes]:
        """The bodies, with something in the places of those that there is none of."""
        root = ""
        for id, is_a_reply, body in zip(ids, is_reply, self.bodies, strict=True):
            root = root if is_a_reply else id
            yield body or codec.left_out(id, root if is_a_reply else "")

    def _there(self, comments: Iterable[Shown]) -> Iterator[Shown]:
        """Those that have a body: without one, a comment is damaged, and gone with its replies."""
        is_there = False
        for shown, body in zip(comments, self.bodies, strict=True):
            if not shown.is_reply:
                is_there = body is not None
            if is_there and body is not None:
                yield shown


def _status(stored: bytes | None) -> Status:
    return cast(Status, stored.decode()) if stored else "approved"


def short_of(id: str, page: str) -> str:
    """Of an id as a request names it, the half that this page's keys know; "" for ""."""
    short, home = split(id)
    return short if home == page or not id else NOBODY

"""What the script for a page finds, and the comments it makes with the bodies that are asked next.

The script says which ids there are and for which of them there is no room, so that no more than a
page's bytes are ever asked of Redis.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import repeat
from typing import NamedTuple, cast

from ..model import Shown, Status
from . import codec
from .ids import split

# An id that no comment has.
NOBODY = "-"


class Found(NamedTuple):
    """The reply of lua/comments/page.lua; its header says more."""

    version: bytes
    visible: int
    roots_total: int
    ids: Sequence[bytes]
    starts: Sequence[int]
    pinned: int
    likes: Sequence[bytes | None]
    statuses: Sequence[bytes | None]
    cut: Sequence[int]
    further: Sequence[int]

    @property
    def wanted(self) -> Sequence[bytes]:
        """The ids of the comments whose bodies there is room for."""
        if not self.cut:
            return self.ids
        cut = set(self.cut)
        return [id for place, id in enumerate(self.ids, 1) if place not in cut]

    def shown(self, path: str, page: str, bodies: Iterable[bytes | None]) -> Iterator[Shown]:
        """Roots, each with its replies behind it; `bodies` are those of `wanted`."""
        cut = frozenset(self.cut)
        if cut:
            bodies = self._filled(page, cut, iter(bodies))
        likes, statuses = self.likes or repeat(None), self.statuses or repeat(None)
        further = self.further or repeat(0)
        starting = iter((*zip(self.starts, further, strict=False), (0, 0)))
        (start, more), number, is_there = next(starting), 0, False
        found = zip(self.ids, bodies, likes, statuses, strict=False)
        for place, (short, body, liked, status) in enumerate(found, 1):
            is_reply, behind = place != start, 0
            if not is_reply:
                behind, number, is_there = more, number + 1, body is not None
                start, more = next(starting)
            # What has been taken away since its id was read is gone, with its replies; the page has
            # another version by now, so nobody will be shown this one again.
            if is_there and body is not None:
                yield Shown(
                    short.decode() + page,
                    path,
                    codec.parse_body(body),
                    int(liked or 0),
                    cast(Status, status.decode()) if status else "approved",
                    not is_reply and number <= self.pinned,
                    is_reply,
                    place in cut,
                    behind,
                )

    def _filled(
        self, page: str, cut: Collection[int], bodies: Iterator[bytes | None]
    ) -> Iterator[bytes | None]:
        """The bodies, with something in the places of those that were not asked for."""
        starts, root = frozenset(self.starts), ""
        for place, short in enumerate(self.ids, 1):
            id, is_root = short.decode() + page, place in starts
            if is_root:
                root = id
            if place in cut:
                yield codec.left_out(id, "" if is_root else root)
            else:
                yield next(bodies)


def short_of(id: str, page: str) -> str:
    """Of an id as a request names it, the half that this page's keys know; "" for ""."""
    short, home = split(id)
    return short if home == page or not id else NOBODY

"""The reply of the script that reads a page, and the threads that are made of it."""

from collections.abc import Sequence
from itertools import compress, islice, repeat
from typing import NamedTuple, cast

from ...ids import split
from ...model import More, Page, Status, Threads
from . import codec
from .status import status_of

# An id that no comment has.
NO_ID = "-"


class PageReply(NamedTuple):
    """The reply of lua/comments/page.lua, whose header describes it."""

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

    def page(self, page: str) -> Page:
        """The page with this digest."""
        return Page(int(self.version), self.visible, self.roots_total, self.threads(page))

    def threads(self, page: str) -> Threads:
        """Roots, each followed by its replies."""
        threads = self if all(self.bodies) else self._without_damaged()
        home = page.encode()
        ids = [short + home for short in threads.ids.split()]
        if not ids:
            return Threads()
        bodies, more = cast(Sequence[bytes], threads.bodies), dict[bytes, More]()
        if threads.further or not all(bodies):
            bodies, more = threads._filled(ids)
        # The lines of a body are its pieces: JSON contains no raw line breaks.
        persons, contents, agents, regions, tallies = zip(
            *[body.split(b"\n") for body in bodies], strict=True
        )
        return Threads(
            ids,
            persons,
            contents,
            agents,
            regions,
            tallies,
            [int(likes or 0) for likes in threads.likes] or [0] * len(ids),
            [cast(Status, status_of(status)) for status in threads.statuses]
            or ["approved"] * len(ids),
            threads.replies,
            threads.pinned,
            more,
        )

    def _without_damaged(self) -> "PageReply":
        """A page without comments that have no body, which are damaged, and their replies."""
        bodies, is_there = iter(self.bodies), list[bool]()
        roots, replies = list[bool](), list[int]()
        for number in self.replies:
            root, *others = (body is not None for body in islice(bodies, 1 + number))
            is_there += (root, *(root and reply for reply in others))
            roots.append(root)
            replies.append(sum(others))
        return self._replace(
            ids=b" ".join(compress(self.ids.split(), is_there)),
            bodies=list(compress(self.bodies, is_there)),
            likes=list(compress(self.likes, is_there)),
            statuses=list(compress(self.statuses, is_there)),
            replies=list(compress(replies, roots)),
            further=list(compress(self.further, roots)),
            pinned=sum(roots[: self.pinned]),
        )

    def _filled(self, ids: Sequence[bytes]) -> tuple[list[bytes], dict[bytes, More]]:
        """The bodies, with placeholders for those that did not fit, and what else was left out by
        the ids of its comments."""
        bodies, more, places = (
            list[bytes](),
            dict[bytes, More](),
            zip(ids, self.bodies, strict=True),
        )
        for number, further in zip(self.replies, self.further or repeat(0), strict=False):
            root = b""
            for id, body in islice(places, 1 + number):
                bodies.append(body or codec.left_out(id.decode(), root.decode()))
                if further or not body:
                    more[id] = More(not body, further)
                root, further = root or id, 0
        return bodies, more


def short_of(id: str, page: str) -> str:
    """The short id of an id in a request; NO_ID if it is of another page than `page`, "" for ""."""
    short, home = split(id)
    return short if home == page or not id else NO_ID

"""The values of some comments in a page's keys at one moment.

Every change of a page is one script call, which raises the page's version: data read between two
reads of the same version are consistent. Only comments/remove.lua does not raise it, since it
removes invisible comments. So bodies are read first, and whether they still exist last.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..comments.store import codec
from ..comments.store.indexes import HASHES, IndexPlace, indexes_of
from ..comments.store.status import status_of
from ..ids import SHORT
from ..model import Body, Standing
from .dataset import DataSet

# Attempts to read a changing page, before it is left to the next check.
MAX_TRIES = 100

# (name of a page's key, member or field)
Entry = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class IndexedComment:
    """A comment's `body`, None for none; its values in `held` and `likes`, and whether it is in
    `pinned`. One that `is_leaving` was removed while it was read."""

    body: bytes | None
    words: bytes | None
    likes: bytes | None
    is_pinned: bool
    is_leaving: bool

    @property
    def status(self) -> Standing:
        return status_of(self.words)

    @property
    def parsed(self) -> Body | None:
        """None for a body that cannot be read."""
        return read_body(self.body)

    @property
    def root(self) -> bytes:
        """The short id of the root that it replies below; empty for none."""
        return codec.root_of(self.parsed)[:SHORT].encode() if self.parsed else b""

    @property
    def parent(self) -> bytes:
        """The short id of its parent; empty for none."""
        return codec.parent_of(self.parsed)[:SHORT].encode() if self.parsed else b""

    def places(self, short: bytes) -> list[IndexPlace] | None:
        """A comment's places in the page's indexes; None if its id, body or likes cannot be
        read."""
        body, likes = self.parsed, self.likes or b"0"
        if body is None or not likes.isdigit():
            return None
        try:
            id = short.decode()
            return list(indexes_of(id, body, int(likes), self.status, is_pinned=self.is_pinned))
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class PageSnapshot:
    """`comments` by short id; `found` has the value or score of each entry, None for none."""

    version: bytes
    longest: bytes | None
    comments: dict[bytes, IndexedComment]
    found: dict[Entry, bytes | None]

    def score(self, place: IndexPlace) -> bytes | None:
        return self.found[place.name, place.member.encode()]


def read_body(stored: bytes | None) -> Body | None:
    """None for anything but a body."""
    try:
        body = codec.parse_body(stored or b"")
        codec.root_of(body), codec.parent_of(body)
    except (TypeError, ValueError):
        return None
    return body


async def moment_of(
    data: DataSet, page: str, shorts: Sequence[bytes], entries: Iterable[Entry] = ()
) -> PageSnapshot | None:
    """Read these comments and entries; None if the page has changed meanwhile."""
    members = defaultdict[str, list[bytes]](list)
    for name, member in dict.fromkeys(entries):
        members[name].append(member)
    key = {name: data.keys.page(page, name) for name in ("version", "bodies", "longest", *members)}
    version = ("GET", key["version"])
    before, longest, *replies, after = await data.redis.ask(
        version,
        ("GET", key["longest"]),
        *_about(data, page, shorts),
        *(
            ("HMGET" if name in HASHES else "ZMSCORE", key[name], *each)
            for name, each in members.items()
        ),
        *(("HEXISTS", key["bodies"], each) for each in shorts),
        version,
    )
    if before != after:
        return None
    about, scores = (
        replies[:4] if shorts else [()] * 4,
        replies[4 if shorts else 0 :][: len(members)],
    )
    last = replies[len(replies) - len(shorts) :]
    comments = {
        short: IndexedComment(
            body, status, likes, pinned is not None, body is not None and not is_there
        )
        for short, body, status, likes, pinned, is_there in zip(shorts, *about, last, strict=True)
    }
    values = {
        (name, member): value
        for (name, each), reply in zip(members.items(), scores, strict=True)
        for member, value in zip(each, reply, strict=True)
    }
    return PageSnapshot(before or b"", longest, comments, values)


def _about(data: DataSet, page: str, shorts: Sequence[bytes]) -> list[tuple[object, ...]]:
    if not shorts:
        return []
    commands = {"bodies": "HMGET", "held": "HMGET", "likes": "HMGET", "pinned": "ZMSCORE"}
    return [(command, data.keys.page(page, name), *shorts) for name, command in commands.items()]

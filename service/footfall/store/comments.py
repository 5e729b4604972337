"""Comments of one article each: every method is one script, on keys of one page.

Which held comments a viewer sees is decided in the scripts, not afterwards: a page that was cut
after filtering would be too short. The site's indexes are another room (store/site_index.py) and
another step.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

from ..driver.batch import Batcher
from ..driver.batch_kinds import CountsCallback, Kept
from ..driver.client import Connected, fulfil
from ..driver.keys import Keys, digest
from ..driver.pipeline import Pipeline
from ..driver.scripts import Scripts
from ..errors import NoSuchParent
from ..model import PUBLIC, Comment, Order, Page, Shown, Status, Viewer
from . import codec
from .ids import SHORT, created_ms, split
from .threads import Found, short_of

# What a page takes of replies, and of comments' bodies as they are stored, in bytes; half of them
# is for roots.
MAX_REPLIES = 1000
MAX_BYTES = 1 << 20

# Of comments in a step of a walk over a page: a millisecond in which a request has to wait.
STEP_BYTES = 1 << 16


class IdTaken(Exception):
    """The id is in use: mint another one."""


class AlreadyPublished(Exception):
    """The same author's same words are there already, in the comment with this id."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.id = id


@dataclass(frozen=True, slots=True)
class Change:
    """What a script did to a page, as the site's indexes need to hear it.

    `visible` is negative where nobody knows how many comments the page showed in that version.
    """

    id: str
    status: Status
    version: int
    visible: int
    account: str
    author: str
    gained: int
    is_birth: bool = False

    @property
    def name(self) -> str:
        """A birth is named by what was born: its version is not known if its reply was lost."""
        return f"{self.id} born" if self.is_birth else f"{split(self.id)[1]} {self.version}"


class Step(NamedTuple):
    """A step of a walk over a page; cursors are for this server, and empty at the end."""

    version: int
    path: str
    server: bytes
    cursor: str
    echo: str
    # Each an id, body, private, likes, status, pinned, as they are stored.
    comments: Sequence[Sequence[Any]]
    # Fingerprint -> id.
    fingerprints: dict[str, str]


class Comments:
    def __init__(self, redis: Connected, scripts: Scripts, keys: Keys, batch: Batcher) -> None:
        self._redis = redis
        self._batch = batch
        self._keys = keys
        self.pipeline = Pipeline(redis)
        self._digests = Kept(digest)
        self._accounts_version = Pipeline.command("GET", keys.accounts_version)
        self._publish = scripts["comments/publish"]
        self._page = scripts["comments/page"]
        self._like = scripts["comments/like"]
        self._moderate = scripts["comments/moderate"]
        self._copy = scripts["comments/copy"]

    async def find_root(self, path: str, parent: str, fingerprint: str) -> str | None:
        """Before a comment is rendered: the root of its parent. Raises Said.

        The root is the parent itself if that is one, and None when the parent is not on this page.
        """
        page = digest(path)
        short, home = split(parent)
        body, same = await self._redis.ask_masters(
            ("HGET", self._keys.page(page, "bodies"), short),
            ("HGET", self._keys.page(page, "fingerprints"), fingerprint),
        )
        if same:
            raise AlreadyPublished(same.decode() + page)
        if not body or home != page:
            return None
        return codec.root_of(codec.parse_body(body)) or parent

    async def publish(self, comment: Comment, status: Status, fingerprint: str) -> Change:
        """Store a comment. Raises Said, NoSuchParent, Taken."""
        page = split(comment.id)[1]
        keys = self._keys_of(
            page, "version", "path", "bodies", "private", "newest", "liked", "pinned",
            "replies", "held", "heldroots", "heldreplies", "fingerprints", "longest",
        )  # fmt: skip
        match await self._publish(
            **keys,
            mine=self._keys.mine(page, comment.account),
            id=comment.id[:SHORT],
            at=comment.at,
            article=comment.path.encode(),
            body=codec.body(comment),
            secrets=codec.secrets(comment),
            status=status,
            parent=comment.parent[:SHORT],
            root=comment.root[:SHORT],
            owner=bool(comment.account),
            fingerprint=fingerprint,
        ):
            case [b"OK", version, visible]:
                return _birth(comment, status, status, version, visible)
            case [b"DUPLICATE", same]:
                raise AlreadyPublished(same.decode() + page)
            case [b"ORPHAN"]:
                raise NoSuchParent()
        raise IdTaken(comment.id)

    async def published(self, comment: Comment, status: Status) -> Change | None:
        """What `publish` did whose reply was lost; None if it has not done it."""
        short, page = split(comment.id)
        # The version first: what else is read may be newer, and will then be announced once more.
        version, body, is_held, bodies, held = await self._redis.ask_masters(
            ("GET", self._keys.page(page, "version")),
            ("HEXISTS", self._keys.page(page, "bodies"), short),
            ("HGET", self._keys.page(page, "held"), short),
            ("HLEN", self._keys.page(page, "bodies")),
            ("HLEN", self._keys.page(page, "held")),
        )
        if not body:
            return None
        now = cast(Status, is_held.decode()) if is_held else "approved"
        return _birth(comment, status, now, int(version), bodies - held)

    async def page(
        self, path: str, *, first: int, size: int, order: Order, viewer: Viewer, root: str = "",
        after: str = "",
    ) -> Page:  # fmt: skip
        """Roots `first` to `first + size` with their replies, oldest first; no authors are asked.

        With a `root` that one alone, with `size` replies behind the one with the id `after`. Of
        replies there are MAX_REPLIES at most, of bodies MAX_BYTES.
        """
        page = self._digests[path]
        # The accounts' version first: what is looked up of them later on must not be older.
        accounts, found = await self._page.through(
            partial(self.pipeline.send, self._accounts_version),
            **self._keys_of(
                page, "version", "bodies", "longest", "pinned", "likes", "replies", "held",
                "heldroots", "heldreplies",
            ),
            ranked=self._keys.page(page, "liked" if order == "like_desc" else "newest"),
            mine=self._mine(page, viewer),
            first=first, size=size, order=order, sees=viewer.sees, root=short_of(root, page),
            after=after[:SHORT], most=MAX_REPLIES, room=MAX_BYTES,
        )  # fmt: skip
        return Found(*found).page(page, int(accounts or 0))

    async def versions(self, path: str) -> tuple[int, int]:
        """Of the page and of the accounts: an answer made of both is good while they stay."""
        future: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self.fetch_versions(path, fulfil(future))
        page, accounts = await future
        return page, accounts

    def fetch_versions(self, path: str, done: CountsCallback) -> None:
        self._batch.version(path, done)

    async def counts(self, paths: Sequence[str], viewer: Viewer) -> list[int]:
        """For each path, its approved comments and the viewer's own held ones.

        Administrators too see no others in a count, as in the reference.
        """
        account = viewer.account.id if viewer.account else ""
        questions: list[tuple[str, ...]] = []
        for path in paths:
            page = digest(path)
            questions.append(("HLEN", self._keys.page(page, "bodies")))
            questions.append(("HLEN", self._keys.page(page, "held")))
            if account:
                questions.append(("ZCARD", self._keys.mine(page, account)))
        lengths = await self._redis.ask(*questions)
        step = 3 if account else 2
        return [bodies - held + sum(own) for bodies, held, *own in _rows(lengths, step)]

    async def by_ids(self, ids: Sequence[str]) -> list[Shown]:
        """Comments from anywhere on the site, in order; those that are gone are left out."""
        questions: list[tuple[str, ...]] = []
        for id in ids:
            short, page = split(id)
            for name in ("bodies", "likes", "held"):
                questions.append(("HGET", self._keys.page(page, name), short))
            questions.append(("ZSCORE", self._keys.page(page, "pinned"), short))
            questions.append(("GET", self._keys.page(page, "path")))
        values = await self._redis.ask_masters(*questions)
        found = []
        for id, (body, likes, held, pinned, path) in zip(ids, _rows(values, 5), strict=True):
            if body is not None:
                status = cast(Status, held.decode()) if held else "approved"
                found.append(
                    Shown(
                        id,
                        path.decode(),
                        codec.parse_body(body),
                        int(likes or 0),
                        status,
                        pinned is not None,
                    )
                )
        return found

    async def like(
        self, id: str, delta: int, now_ms: int = 0, viewer: Viewer = PUBLIC
    ) -> Shown | None:
        """The comment with its new count of likes; None when the viewer sees no such comment."""
        short, page = split(id)
        match await self._like(
            **self._keys_of(page, "version", "path", "bodies", "likes", "liked", "held", "pinned"),
            mine=self._mine(page, viewer),
            id=short,
            delta=delta,
            sees=viewer.sees,
            room=MAX_BYTES,
            now=now_ms,
        ):
            case [b"OK", likes, body, status, pinned, path]:
                body = codec.parse_body(body or codec.left_out(id, ""))
                return Shown(id, path.decode(), body, likes, status.decode(), bool(pinned))
        return None

    async def moderate(
        self, shown: Shown, status: Status | None, now_ms: int = 0, *, is_pinned: bool | None = None
    ) -> Change | None:
        """Give a comment another status, or pin it if it is a root; None when it is gone."""
        short, page = split(shown.id)
        account, root = shown.body.account, codec.root_of(shown.body)
        match await self._moderate(
            **self._keys_of(
                page, "version", "bodies", "newest", "liked", "pinned", "likes", "replies", "held",
                "heldroots", "heldreplies",
            ),
            mine=self._keys.mine(page, account),
            id=short,
            at=created_ms(shown.id),
            root=root[:SHORT],
            owner=bool(account),
            status=status or "",
            pin="" if is_pinned is None or root else int(is_pinned),
            now=now_ms,
        ):  # fmt: skip
            case [b"OK", version, visible, was]:
                now = status or was.decode()
                gained = (now == "approved") - (was == b"approved")
                author = shown.body.tally.decode()
                return Change(shown.id, now, version, visible, account, author, gained)
        return None

    async def secrets(self, ids: Sequence[str]) -> dict[str, bytes]:
        """By id, what only administrators may see, as JSON."""
        if not ids:
            return {}
        halves = await self._redis.ask_masters(
            *(("HGET", self._keys.page(page, "private"), short) for short, page in map(split, ids))
        )
        return {id: half for id, half in zip(ids, halves, strict=True) if half}

    async def copy(self, page: str, cursor: str, echo: str, count: int, ids: Sequence[str]) -> Step:
        """The next comments of a walk over a page, and those with these short ids."""
        names = "version", "path", "bodies", "private", "likes", "held", "pinned"
        version, path, server, cursor_after, echo_after, comments, pairs = await self._copy(
            **self._keys_of(page, *names),
            fingerprints=self._keys.page(page, self._keys.fingerprints),
            cursor=cursor,
            echo=echo,
            count=count,
            bytes=STEP_BYTES,
            ids=ids,
        )
        # What is no text is nobody's; whoever reads it here is told by its digest.
        words = [each.decode(errors="replace") for each in pairs]
        return Step(
            int(version),
            path.decode(errors="replace"),
            server,
            cursor_after.decode(),
            echo_after.decode(),
            comments,
            dict(zip(words[::2], words[1::2], strict=True)),
        )

    def _keys_of(self, page: str, *names: str) -> dict[str, str]:
        return {name: self._keys.page(page, name) for name in names}

    def _mine(self, page: str, viewer: Viewer) -> str:
        return self._keys.mine(page, viewer.account.id if viewer.account else "")


def _birth(comment: Comment, born_as: Status, now: Status, version: int, visible: int) -> Change:
    gained = int(born_as == "approved")
    return Change(
        comment.id, now, version, visible, comment.account, comment.author, gained, is_birth=True
    )


def _rows(values: Sequence[Any], width: int) -> Iterator[tuple[Any, ...]]:
    return zip(*[iter(values)] * width, strict=True)

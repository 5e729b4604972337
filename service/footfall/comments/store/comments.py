"""The comments of an article: every method is one script call on the keys of one page.

Scripts decide which unpublished comments a viewer sees: filtering a page after it was cut would
make it too short. The site follows their changes (comments/store/journal.py).
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from ...accounts.store.bans import VERSION
from ...callbacks import awaited
from ...driver.batch import Batcher
from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...driver.pipeline import Pipeline
from ...driver.reads import Memo, read_of_key
from ...driver.script_calls import CountsCallback
from ...driver.scripts import Scripts
from ...ids import SHORT, created_ms, digest, split
from ...model import PUBLIC, Comment, Draft, Order, Page, Status, StoredComment, Viewer
from . import codec
from .closings import Closings, rule_of
from .journal import Journal
from .outcomes import AlreadyPublished, require_stored
from .status import status_of
from .threads import PageReply, short_of

# What one answer holds at most: replies, and bytes of stored bodies, half of them for roots.
MAX_REPLIES = 1000
MAX_PAGE_BYTES = 1 << 20

# Bytes of comments per step of a walk over a page: requests wait for a millisecond at most.
STEP_BYTES = 1 << 16

# Keys of a page that a comment's change may change, in addition to its journal.
CHANGED = (
    "version",
    "bodies",
    "private",
    "newest",
    "liked",
    "pinned",
    "likes",
    "replies",
    "held",
    "heldroots",
    "heldliked",
    "heldreplies",
    "mine",
    "hidden",
    "fingerprints",
    "longest",
    "decided",
)
# What a new comment may.
PUBLISHED = (*CHANGED, "path", "nested")


class Preconditions(NamedTuple):
    """`root` is the root above a new comment: its parent if that is one, None if the parent is not
    on this page, or deleted. `bans` is the version of the bans, `approved` how many comments the
    author has, `closes` the page's rule (closings.py) and `first_ms` when the page's first approved
    comment was written, None if it has none. `fingerprint` is the new comment's, "" if it may be
    there twice.
    """

    root: str | None
    bans: int
    approved: int
    closes: int | None = None
    first_ms: int | None = None
    fingerprint: str = ""


class WalkStep(NamedTuple):
    """A step of a walk over a page (lua/comments/copy.lua).

    `cursor` and `echo` are for the next step; they are valid on this `server` only, and "" at the
    end.
    """

    version: int
    path: str
    server: bytes
    cursor: str
    echo: str
    # Each is (id, body, private, likes, status, pinned), as they are stored.
    comments: Sequence[Sequence[Any]]
    # Fingerprint -> id.
    fingerprints: dict[str, str]
    # The short ids of all that were deleted by themselves.
    heads: set[str]


class CommentStore:
    def __init__(
        self, redis: RedisClient, scripts: Scripts, keys: Keys, batch: Batcher, journal: Journal
    ) -> None:
        self._journal = journal
        self._redis = redis
        self._batch = batch
        self.closings = Closings(redis, keys)
        self._keys = keys
        self.pipeline = Pipeline(redis)
        self._digests = Memo(digest)
        self._versions = Memo(lambda path: read_of_key(keys.page(digest(path), "version")))
        self._publish = scripts["comments/publish"]
        self._page = scripts["comments/page"]
        self._like = scripts["comments/like"]
        self._copy = scripts["comments/copy"]
        self._touch = scripts["comments/touch"]

    async def before(
        self,
        draft: Draft,
        account: str = "",
        *,
        has_twins: bool = False,
        asks_for_trust: bool = False,
    ) -> Preconditions:
        """Data needed before a comment is rendered, in one round trip; `account` is its author's,
        and of its comments only if that `asks_for_trust`. Raises AlreadyPublished, unless it
        `has_twins`."""
        page = digest(draft.path)
        short, home = split(draft.parent)
        fingerprint = "" if has_twins else codec.fingerprint_of_draft(draft, account)
        author = account if asks_for_trust else ""
        body, held, same, bans, rules, newest, pinned, *approved = await self._redis.ask_masters(
            ("HGET", self._keys.page(page, "bodies"), short),
            ("HGET", self._keys.page(page, "held"), short),
            ("HGET", self._keys.page(page, "fingerprints"), fingerprint),
            ("HGET", self._keys.site("bans"), VERSION),
            self.closings.question(draft.path),
            *(("ZRANGE", self._keys.page(page, name), 0, 0) for name in ("newest", "pinned")),
            *([("ZSCORE", self._keys.site("authors"), author)] if author else ()),
        )
        if same and not await self._is_deleted(page, same):
            raise AlreadyPublished(same.decode() + page)
        root = None
        if body and home == page and status_of(held) != "deleted":
            root = codec.root_of(codec.parse_body(body)) or draft.parent
        number = int(approved[0] or 0) if author else 0
        first_ms = min((created_ms(id.decode()) for id in (*newest, *pinned)), default=None)
        closes = rule_of(rules)
        return Preconditions(root, int(bans or 0), number, closes, first_ms, fingerprint)

    async def _is_deleted(self, page: str, short: bytes) -> bool:
        (held,) = await self._redis.ask_masters(("HGET", self._keys.page(page, "held"), short))
        return status_of(held) == "deleted"

    async def publish(
        self,
        comment: Comment,
        status: Status,
        fingerprint: str,
        *,
        by: Literal["author", "import", "move"] = "author",
        likes: int = 0,
        is_pinned: bool = False,
        mark: str = "",
        decision: str = "",
    ) -> None:
        """Store a comment. An imported one may have likes and a pin, a moved one its former mark
        (status.py) and decision. Raises AlreadyPublished, NoSuchParent, IdTaken."""
        page = split(comment.id)[1]
        if comment.account:
            # First: an account that changes is refreshed on all pages that are listed here.
            await self._redis.change(("ZADD", self._keys.pages_of(comment.account), 0, page))
        outcome = await self._journal.change(
            self._publish,
            page,
            **self._keys_of(page, *PUBLISHED),
            id=comment.id[:SHORT],
            at=comment.at,
            article=comment.path.encode(),
            body=codec.body(comment),
            secrets=codec.secrets(comment),
            status=status,
            parent=comment.parent[:SHORT],
            root=comment.root[:SHORT],
            needs=(comment.parent if by == "author" else comment.root)[:SHORT],
            fingerprint=fingerprint,
            liking=likes,
            pin=is_pinned,
            mark=mark,
            decision=decision,
            by=by,
            actor="",
        )
        require_stored(outcome, comment.id, page)

    async def page(
        self,
        path: str,
        *,
        first: int,
        size: int,
        order: Order,
        viewer: Viewer,
        root: str = "",
        after: str = "",
    ) -> Page:
        """Roots `first` to `first + size`, each with its replies, oldest first; without accounts.

        With the id of a `root`, that one alone with `size` of its replies, those that follow the
        reply with the id `after`. It has at most MAX_REPLIES replies and MAX_PAGE_BYTES of bodies.
        """
        page = self._digests[path]
        names = "version", "bodies", "longest", "pinned", "likes", "replies", "held", "heldreplies"
        is_by_likes = order == "like_desc"
        reply = await self._page.through(
            self.pipeline.send_one,
            **self._keys_of(page, *names, "mine", "hidden", "deleted", "gone"),
            ranked=self._keys.page(page, "liked" if is_by_likes else "newest"),
            heldranked=self._keys.page(page, "heldliked" if is_by_likes else "heldroots"),
            account=viewer.account.id if viewer.account else "",
            first=first,
            size=size,
            order=order,
            sees=viewer.sees,
            root=short_of(root, page),
            after=after[:SHORT],
            most=MAX_REPLIES,
            room=MAX_PAGE_BYTES,
        )
        return PageReply(*reply).page(page)

    async def version(self, path: str) -> int:
        """An answer made of the page is good while this stays."""
        versions: list[int] = await awaited(partial(self.fetch_version, path))
        return versions[0]

    def fetch_version(self, path: str, done: CountsCallback) -> None:
        self._batch.read(self._versions[path], done)

    async def touch(self, page: str, now_ms: int) -> None:
        """Raise a page's version: data that its responses include has changed."""
        await self._touch(**self._keys_of(page, "version", "journal"), now=now_ms, most=0)

    async def counts(self, paths: Sequence[str], viewer: Viewer) -> list[int]:
        """For each path, the number of approved comments and of the viewer's own unpublished ones.

        Other unpublished comments do not count for administrators either, as in Waline.
        """
        account = viewer.account.id if viewer.account else ""
        questions: list[tuple[str, ...]] = []
        for path in paths:
            page = digest(path)
            questions.append(("HLEN", self._keys.page(page, "bodies")))
            questions.append(("HLEN", self._keys.page(page, "held")))
            questions.append(("HGET", self._keys.page(page, "hidden"), "approved"))
            if account:
                mine = self._keys.page(page, "mine")
                questions.append(("ZLEXCOUNT", mine, f"[{account}:", f"({account};"))
        numbers = await self._redis.ask(*questions)
        step = 4 if account else 3
        return [
            bodies - held - int(hidden or 0) + sum(own)
            for bodies, held, hidden, *own in _rows(numbers, step)
        ]

    async def by_ids(self, ids: Sequence[str]) -> list[StoredComment]:
        """Comments of any pages, in the order of `ids`, without those that do not exist, or are
        deleted."""
        questions: list[tuple[str, ...]] = []
        for id in ids:
            short, page = split(id)
            for name in ("bodies", "likes", "held"):
                questions.append(("HGET", self._keys.page(page, name), short))
            questions.append(("ZSCORE", self._keys.page(page, "pinned"), short))
            questions.append(("GET", self._keys.page(page, "path")))
        values = await self._redis.ask_masters(*questions)
        listed = []
        for id, (body, likes, held, pinned, path) in zip(ids, _rows(values, 5), strict=True):
            status = status_of(held)
            if body is not None and status != "deleted":
                parsed = codec.parse_body(body)
                listed.append(
                    StoredComment(
                        id, path.decode(), parsed, int(likes or 0), status, pinned is not None
                    )
                )
        return listed

    async def like(
        self, id: str, delta: int, now_ms: int = 0, viewer: Viewer = PUBLIC
    ) -> StoredComment | None:
        """Change a comment's likes by `delta`; None when the viewer sees no such comment."""
        short, page = split(id)
        names = "version", "path", "bodies", "likes", "liked", "heldliked", "held", "pinned", "mine"
        match await self._like(
            **self._keys_of(page, *names),
            account=viewer.account.id if viewer.account else "",
            id=short,
            delta=delta,
            sees=viewer.sees,
            room=MAX_PAGE_BYTES,
            now=now_ms,
        ):
            case [b"OK", likes, body, status, pinned, path]:
                body = codec.parse_body(body or codec.left_out(id, ""))
                return StoredComment(id, path.decode(), body, likes, status.decode(), bool(pinned))
        return None

    async def secrets(self, ids: Sequence[str]) -> dict[str, bytes]:
        """Id -> the private part, as a JSON object; comments without one are left out."""
        if not ids:
            return {}
        halves = await self._redis.ask_masters(
            *(("HGET", self._keys.page(page, "private"), short) for short, page in map(split, ids))
        )
        return {id: half for id, half in zip(ids, halves, strict=True) if half}

    async def copy(
        self, page: str, cursor: str, echo: str, count: int, ids: Sequence[str]
    ) -> WalkStep:
        """The next comments of a walk over a page, and those with these short ids.

        `cursor` and `echo` are those of the step before, "" for the first one.
        """
        names = "version", "path", "bodies", "private", "likes", "held", "pinned", "deleted"
        version, path, server, cursor_after, echo_after, comments, pairs, heads = await self._copy(
            **self._keys_of(page, *names),
            fingerprints=self._keys.page(page, "fingerprints"),
            cursor=cursor,
            echo=echo,
            count=count,
            bytes=STEP_BYTES,
            ids=ids,
        )
        # A fingerprint that is not UTF-8 belongs to no comment; readers only have to see that.
        texts = [pair.decode(errors="replace") for pair in pairs]
        return WalkStep(
            # Scripts write only numbers as versions.
            int(version) if version.isdigit() else 0,
            path.decode(errors="replace"),
            server,
            cursor_after.decode(),
            echo_after.decode(),
            comments,
            dict(zip(texts[::2], texts[1::2], strict=True)),
            {head.decode(errors="replace") for head in heads},
        )

    async def walk(self, page: str, count: int) -> AsyncIterator[WalkStep]:
        """All comments of a page in steps; started again if another server answers, as cursors are
        valid on one server only."""
        cursor, server = "0", b""
        while cursor:
            step = await self.copy(page, cursor, "", count, [])
            if server and step.server != server:
                cursor, server = "0", step.server
                continue
            cursor, server = step.cursor, step.server
            yield step

    def _keys_of(self, page: str, *names: str) -> dict[str, str]:
        return {name: self._keys.page(page, name) for name in names}


def _rows(values: Sequence[Any], width: int) -> Iterator[tuple[Any, ...]]:
    return zip(*[iter(values)] * width, strict=True)

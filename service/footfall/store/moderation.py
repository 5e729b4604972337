"""Changes of comments that are stored: their words, status and pin, and their end.

Every method that changes something is one script on one page, which compares what it finds with
what was read before: of two who edit the same words at once, the second one is told.
"""

from collections.abc import Sequence
from heapq import merge
from itertools import islice
from typing import Literal, NamedTuple, cast

from ..driver.client import Connected
from ..driver.keys import Keys
from ..driver.scripts import Scripts
from ..model import Comment, Shown, Status
from . import codec
from .comments import AlreadyPublished, Change, Comments
from .ids import SHORT, created_ms, split

INDEXES = (
    "newest", "liked", "pinned", "likes", "replies", "held", "heldroots", "heldliked",
    "heldreplies",
)  # fmt: skip
# What a comment's change may change of its page.
CHANGED = (
    "version", "bodies", "private", *INDEXES, "fingerprints", "longest", "outbox", "withdrawn",
)  # fmt: skip
# Of a walk over a thread, in one trip.
STEP_COMMENTS = 100
# Who has changed a comment.
By = Literal["author", "moderator", "judge"]


class Overtaken(Exception):
    """What was read has been changed by somebody else meanwhile: read it again."""


class Apart(Exception):
    """A comment cannot become a reply there: it has replies itself, or there is no such root."""


class Whole(NamedTuple):
    """A comment with both its halves, as they are stored.

    `is_compared`: its words were compared with those of others. `seen`: it is held, and everybody
    saw it before (Task.seen). Both are known of one that was deleted.
    """

    shown: Shown
    private: bytes
    is_compared: bool = False
    seen: str = ""

    @property
    def comment(self) -> Comment:
        """Raises ValueError, TypeError for what is damaged."""
        return codec.comment(self.shown.id, self.shown.path, self.body, self.private)

    @property
    def body(self) -> bytes:
        return b"\n".join(self.shown.body)

    @property
    def root(self) -> str:
        """The id of the root that it is a reply under, empty for a root."""
        return codec.root_of(self.shown.body)

    @property
    def mail(self) -> str:
        """As its author wrote it; "" for one with an account, and for one that is damaged."""
        try:
            return codec.mail_of(self.private)
        except ValueError:
            return ""

    @property
    def halves(self) -> bytes:
        return self.body + self.private


class Words(NamedTuple):
    """Other words for a comment: as it was read, and as it shall be.

    `is_compared`: the words are its author's own, and there must not be a second such comment. A
    root that has a root after it becomes a reply.
    """

    before: Whole
    after: Comment
    is_compared: bool


class Moderation:
    def __init__(self, redis: Connected, scripts: Scripts, keys: Keys, comments: Comments) -> None:
        self._redis = redis
        self._keys = keys
        self._comments = comments
        self._moderate = scripts["comments/moderate"]
        self._delete = scripts["comments/delete"]

    async def whole(self, ids: Sequence[str]) -> list[Whole]:
        """Comments with both halves, in order; those that are gone are left out."""
        # This half first: if the other one is of another moment, the script tells.
        if not ids:
            return []
        private = await self._comments.secrets(ids)
        shown = await self._comments.by_ids(ids)
        return [Whole(each, private.get(each.id, b"")) for each in shown]

    async def moderate(
        self, shown: Shown, status: Status | None, now_ms: int = 0, *,
        is_pinned: bool | None = None, words: Words | None = None, by: By | None = "moderator",
        only: Status | None = None,
    ) -> Change | None:  # fmt: skip
        """Give a comment another status or other words, or pin a root; None when it is gone. With
        `only` it must still have this status. Raises Overtaken, AlreadyPublished, Apart."""
        short, page = split(shown.id)
        account, was_under = shown.body.account, codec.root_of(shown.body)
        root = was_under or (words.after.root if words else "")
        author = shown.body.tally.decode()
        owner, tallied = (words.after.account, words.after.author) if words else (account, author)
        match await self._moderate(
            **self._keys_of(page, *CHANGED),
            mine=self._keys.mine(page, owner or account),
            id=short,
            at=created_ms(shown.id),
            root=root[:SHORT],
            owner=bool(owner),
            status=status or "",
            pin="" if is_pinned is None or root else int(is_pinned),
            now=now_ms,
            only=only or "",
            by=by if by and self._comments.outbox.is_on else "",
            adopted=bool(root) and not was_under,
            **_worded(words),
        ):
            case [b"OK", version, visible, was]:
                now = status or was.decode()
                gained = (now == "approved" and tallied == author) - (was == b"approved")
                return Change(
                    shown.id, now, version, visible, owner, author, gained, was=was.decode()
                )
            case [b"OVERTAKEN"]:
                raise Overtaken()
            case [b"DUPLICATE", same]:
                raise AlreadyPublished(same.decode() + page)
            case [b"APART"]:
                raise Apart()
        return None

    async def disown(self, found: Whole, after: Comment, now_ms: int) -> Change | None:
        """Put what is left of a comment in its place once its author is nobody; None if it is gone.

        Raises Overtaken.
        """
        short, page = split(found.shown.id)
        # Before the comment forgets whose it was: then nobody would know where it has to go.
        mine = self._keys.mine(page, found.shown.body.account)
        await self._redis.change(("ZREM", mine, short))
        words = Words(found, after, is_compared=False)
        return await self.moderate(found.shown, None, now_ms, words=words, by=None)

    async def delete(
        self, comments: Sequence[Whole], now_ms: int, *, is_thread: bool = False
    ) -> list[tuple[Whole, Change]]:
        """Take comments of one page away, all in one step; those that were there, as they were.

        With `is_thread` the last one is a root that must have no other replies than the rest.
        Raises Overtaken; nothing is changed then.
        """
        page = split(comments[0].shown.id)[1]
        accounts = sorted({each.shown.body.account for each in comments} - {""})
        reply = await self._delete(
            **self._keys_of(page, "version", "bodies", "private", *INDEXES, "fingerprints"),
            withdrawn=self._keys.page(page, "withdrawn"),
            mine=[self._keys.mine(page, account) for account in accounts],
            now=now_ms,
            thread=comments[-1].shown.id[:SHORT] if is_thread else "",
            comments=[word for each in comments for word in _described(each, accounts)],
        )
        if reply[0] == b"OVERTAKEN":
            raise Overtaken()
        _, version, visible, words = reply
        gone = []
        width = 5
        columns = (words[at::width] for at in range(width))
        for each, was, likes, pinned, compared, seen in zip(comments, *columns, strict=True):
            if was:
                status = cast(Status, was.decode())
                shown = each.shown._replace(likes=likes, status=status, is_pinned=bool(pinned))
                change = Change(
                    shown.id, "deleted", version, visible, shown.body.account,
                    shown.body.tally.decode(), -(status == "approved"), was=status,
                )  # fmt: skip
                gone.append((Whole(shown, each.private, bool(compared), seen.decode()), change))
        return gone

    async def replies(self, root: str, after: str = "") -> list[str]:
        """Ids of the next replies below a root, behind one of them, oldest first; of any status."""
        short, page = split(root)
        first = f"({short}:{after[:SHORT]}"
        found = await self._redis.ask_masters(
            *(
                ("ZRANGE", self._keys.page(page, name), first, f"({short};", "BYLEX",
                 "LIMIT", 0, STEP_COMMENTS)
                for name in ("replies", "heldreplies")
            )
        )  # fmt: skip
        members = islice(merge(*found), STEP_COMMENTS)
        return [member.decode().partition(":")[2] + page for member in members]

    def _keys_of(self, page: str, *names: str) -> dict[str, str]:
        return {name: self._keys.page(page, name) for name in names}


def _worded(words: Words | None) -> dict[str, object]:
    """What the script is told of other words."""
    if words is None:
        return dict.fromkeys(("before", "body", "secrets", "outdated", "fingerprint"), "")
    before, now = codec.fingerprint(words.before.comment), codec.fingerprint(words.after)
    return {
        "before": words.before.halves,
        "body": codec.body(words.after),
        "secrets": codec.secrets(words.after),
        "outdated": before if now != before else "",
        "fingerprint": now if words.is_compared else "",
    }


def _described(each: Whole, accounts: Sequence[str]) -> tuple[object, ...]:
    account = each.shown.body.account
    try:
        fingerprint = codec.fingerprint(each.comment)
    except (TypeError, ValueError):
        # It is damaged, and can go all the same.
        fingerprint = ""
    owner = accounts.index(account) + 1 if account else 0
    return each.shown.id[:SHORT], each.root[:SHORT], each.halves, fingerprint, owner

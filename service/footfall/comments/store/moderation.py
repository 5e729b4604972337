"""Changes of stored comments: text, status and pin.

Every method that changes something is one script on one page, which compares the current state with
the one that was read: of two concurrent edits of a text, the second one gets an error.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, cast

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...driver.scripts import Scripts
from ...ids import SHORT, created_ms, split
from ...model import Comment, Status, StoredComment
from . import codec
from .comments import CHANGED, CommentStore
from .journal import Journal
from .outcomes import AlreadyPublished


class NewText(NamedTuple):
    """The script's parameters for a new text; empty where the text stays."""

    before: bytes = b""
    body: bytes = b""
    secrets: bytes = b""
    outdated: str = ""
    fingerprint: str = ""
    lengths: str = ""


class Actor(NamedTuple):
    """Who changes a comment. People are notified of what authors, moderators, spam filters and
    readers who report do; what moderators do is logged, with their account's id, and the action
    that it is a part of."""

    by: Literal["author", "moderator", "judge", "readers", "erasure", "sweeper"]
    account: str = ""
    door: str = ""
    action: str = ""

    @property
    def words(self) -> str:
        """As scripts store it (lua/includes/record.lua)."""
        more = (self.account, self.door, self.action)
        return " ".join(word or "-" for word in more) if any(more) else ""


class Decision(NamedTuple):
    """A comment's last change, at `at_ms`."""

    at_ms: int
    actor: Actor

    @classmethod
    def parse(cls, stored: bytes) -> "Decision":
        at, by, *more = stored.decode().split(" ")
        words = ("" if word == "-" else word for word in more)
        return cls(int(at), Actor(cast(Any, by), *cast(Any, words)))


class Overtaken(Exception):
    """The comment is not what was read any longer: read it again."""


class Moderated(NamedTuple):
    """The former status of a comment; not `changed` if nothing changed."""

    was: Status
    changed: bool


class Moderation:
    def __init__(
        self,
        redis: RedisClient,
        scripts: Scripts,
        keys: Keys,
        comments: CommentStore,
        journal: Journal,
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._comments = comments
        self._journal = journal
        self._moderate = scripts["comments/moderate"]

    async def whole(self, ids: Sequence[str]) -> list[StoredComment]:
        """Comments with both halves, in order; those that are gone are left out."""
        # This half first: the script detects if the other one is newer.
        if not ids:
            return []
        private = await self._comments.secrets(ids)
        accounts = await self._comments.by_ids(ids)
        return [account._replace(private=private.get(account.id, b"")) for account in accounts]

    async def decisions(self, ids: Sequence[str]) -> dict[str, Decision]:
        """The last change of each of these comments, deleted ones too; a new one has none."""
        if not ids:
            return {}
        replies = await self._redis.ask_masters(
            *(("HGET", self._keys.page(page, "decided"), short) for short, page in map(split, ids))
        )
        return {
            id: Decision.parse(stored) for id, stored in zip(ids, replies, strict=True) if stored
        }

    async def moderate(
        self,
        stored: StoredComment,
        status: Status | None,
        now_ms: int,
        actor: Actor,
        *,
        is_pinned: bool | None = None,
        after: Comment | None = None,
        is_own: bool = False,
        only: str = "",
    ) -> Moderated | None:
        """Give a comment another status or other words, or pin a root; None when it is gone.

        With `after` it gets these words; if they are its author's own (`is_own`), there must be no
        second such comment. It must be what was read, text and status; with `only` it may be
        anything that fits this instead (lua/includes/gate.lua). Raises Overtaken, AlreadyPublished.
        """
        short, page = split(stored.id)
        root = codec.root_of(stored.body)
        text = _new_text(stored, after, is_own=is_own) if after else NewText()
        outcome = await self._journal.change(
            self._moderate,
            page,
            **{name: self._keys.page(page, name) for name in CHANGED},
            id=short,
            at=created_ms(stored.id),
            root=root[:SHORT],
            status=status or "",
            pin="" if is_pinned is None or root else int(is_pinned),
            now=now_ms,
            only=only or stored.status,
            seen=b"" if only or after else codec.joined(stored.body),
            by=actor.by,
            actor=actor.words,
            **text._asdict(),
        )
        return _moderated(outcome, page)


def _new_text(stored: StoredComment, after: Comment, *, is_own: bool) -> NewText:
    before = codec.comment(stored)
    was, now = codec.fingerprint(before), codec.fingerprint(after)
    return NewText(
        before=codec.halves(stored),
        body=codec.body(after),
        secrets=codec.secrets(after),
        outdated=was if now != was else "",
        fingerprint=now if is_own else "",
        lengths=f"{len(before.source)} {len(after.source)}",
    )


def _moderated(outcome: Any, page: str) -> Moderated | None:
    match outcome:
        case [b"OK", was, changed]:
            return Moderated(cast(Status, was.decode()), bool(changed))
        case [b"OVERTAKEN"]:
            raise Overtaken()
        case [b"DUPLICATE", same]:
            raise AlreadyPublished(same.decode() + page)
    return None

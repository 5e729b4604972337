"""Changes of comments that are stored: their words, status and pin.

Every method that changes something is one script on one page, which compares what it finds with
what was read before: of two who edit the same words at once, the second one is told.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, cast

from ..driver.client import RedisClient
from ..driver.keys import Keys
from ..driver.scripts import Scripts
from ..model import Comment, Status, StoredComment
from . import codec
from .comments import AlreadyPublished, Comments
from .ids import SHORT, created_ms, split
from .journal import Journal

# What a comment's change may change of its page, besides its journal.
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
)


class Actor(NamedTuple):
    """Who changes a comment. People are told of what authors, moderators and judges do; what
    moderators do is logged, with their account's id."""

    by: Literal["author", "moderator", "judge", "erasure", "sweeper"]
    account: str = ""


class Overtaken(Exception):
    """What was read has been changed by somebody else meanwhile: read it again."""


class Rewording(NamedTuple):
    """Other words for a comment: as it was read, and as it shall be.

    `is_compared`: the words are its author's own, and there must not be a second such comment.
    """

    before: StoredComment
    after: Comment
    is_compared: bool


class Moderated(NamedTuple):
    """The status of a comment before; it is not `changed` if it was all that already."""

    was: Status
    changed: bool


class Moderation:
    def __init__(
        self, redis: RedisClient, scripts: Scripts, keys: Keys, comments: Comments, journal: Journal
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._comments = comments
        self._journal = journal
        self._moderate = scripts["comments/moderate"]

    async def whole(self, ids: Sequence[str]) -> list[StoredComment]:
        """Comments with both halves, in order; those that are gone are left out."""
        # This half first: if the other one is of another moment, the script tells.
        if not ids:
            return []
        private = await self._comments.secrets(ids)
        found = await self._comments.by_ids(ids)
        return [each._replace(private=private.get(each.id, b"")) for each in found]

    async def moderate(
        self,
        found: StoredComment,
        status: Status | None,
        now_ms: int,
        actor: Actor,
        *,
        is_pinned: bool | None = None,
        words: Rewording | None = None,
        only: Status | None = None,
    ) -> Moderated | None:
        """Give a comment another status or other words, or pin a root; None when it is gone. With
        `only` it must still have this status. Raises Overtaken, AlreadyPublished."""
        short, page = split(found.id)
        root = codec.root_of(found.body)
        match await self._journal.change(
            self._moderate,
            page,
            **{name: self._keys.page(page, name) for name in CHANGED},
            id=short,
            at=created_ms(found.id),
            root=root[:SHORT],
            status=status or "",
            pin="" if is_pinned is None or root else int(is_pinned),
            now=now_ms,
            only=only or "",
            by=actor.by,
            actor=actor.account,
            **_worded(words),
        ):
            case [b"OK", was, changed]:
                return Moderated(cast(Status, was.decode()), bool(changed))
            case [b"OVERTAKEN"]:
                raise Overtaken()
            case [b"DUPLICATE", same]:
                raise AlreadyPublished(same.decode() + page)
        return None


def _worded(words: Rewording | None) -> dict[str, object]:
    """What the script is told of other words."""
    if words is None:
        names = ("before", "body", "secrets", "outdated", "fingerprint", "lengths")
        return dict.fromkeys(names, "")
    read = codec.comment(words.before)
    before, now = codec.fingerprint(read), codec.fingerprint(words.after)
    lengths = (len(read.source), len(words.after.source))
    return {
        "before": codec.halves(words.before),
        "body": codec.body(words.after),
        "secrets": codec.secrets(words.after),
        "outdated": before if now != before else "",
        "fingerprint": now if words.is_compared else "",
        "lengths": "{} {}".format(*lengths),
    }

"""Changes of stored comments: text, status and pin, and deletion.

Authors may change their text, under the rules and limits of new comments; administrators may change
everything. Others are rejected before they learn whether the comment exists. A new text is rendered
once, however often concurrent changes interfere.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ...errors import Changed, Duplicate, Forbidden, TooFast, Unauthorized, Unavailable
from ...ids import digest, is_id
from ...limits.clients import pool_client_of
from ...markup import safe_link
from ...model import Caller, Comment, Lookups, Status, StoredComment
from ...render.versions import is_seen
from ...render.view import DisplayOptions
from ..noun import Comments
from ..store import codec
from ..store.moderation import Actor, Moderation, Overtaken
from ..store.outcomes import AlreadyPublished
from ..store.site_index import SiteIndex
from .admission import Rules, require_allowed, verdict
from .comments import lookups, made_of
from .cooldown import cooldown

T = TypeVar("T")

# Attempts, each after reading what someone else has changed meanwhile.
TRIES = 20


@dataclass(frozen=True, slots=True)
class Edit:
    """What to change of a comment; None, or an empty text, stays as it is.

    Of an author only `text` counts. Name, email and link are for comments without an account.
    """

    text: str = ""
    nick: str = ""
    mail: str = ""
    link: str = ""
    status: Status | None = None
    is_pinned: bool | None = None

    def is_blank(self, account: str) -> bool:
        """Is there nothing to do of this, on a comment by this account, "" for none?"""
        names = "" if account else self.nick + self.mail + self.link
        return not (self.text or names or self.status) and self.is_pinned is None


async def edit(
    comments: Comments, id: str, wanted: Edit, caller: Caller, seen: str = ""
) -> tuple[StoredComment, Lookups] | None:
    """The comment as it is now; None when an administrator names none, or nothing was to be done.

    It must be what the caller has `seen`: a version or a status, "" for anything. Raises Changed,
    Unauthorized, Forbidden, Banned, TooMany, TooFast, Duplicate and Unavailable.
    """
    comments.accounts.bans.look()
    stored = await _allowed(comments, id, caller)
    is_moderator = caller.viewer.is_moderator
    if stored is None or wanted.is_blank(codec.comment(stored).account):
        return None
    if not is_moderator and not wanted.text:
        return None
    if is_moderator:
        await _moderate(comments, stored, wanted, caller, seen)
    else:
        await _rewrite(comments, stored, wanted.text, caller, seen)
    now = await comments.store.by_ids([stored.id])
    return (now[0], await lookups(comments, now, caller.viewer)) if now else None


async def _found(comments: Comments, id: str) -> Sequence[StoredComment]:
    """The comment, also where its page was moved to."""
    stored = await comments.moderation.whole([id])
    moved = None if stored else await comments.forwards.follow(id)
    return await comments.moderation.whole([moved[1]]) if moved else stored


async def _allowed(comments: Comments, id: str, caller: Caller) -> StoredComment | None:
    """The comment, if the caller may change it; None for administrators if it does not exist.

    Raises Unauthorized for the public, and Forbidden for other callers, also if the comment does
    not exist.
    """
    account = caller.viewer.account
    if account is None:
        raise Unauthorized()
    stored = await _found(comments, id) if is_id(id) else []
    is_author = bool(stored) and stored[0].body.account == account.id
    if not (is_author or caller.viewer.is_moderator):
        raise Forbidden()
    return stored[0] if stored else None


async def until_settled(
    moderation: Moderation, stored: StoredComment, attempt: Callable[[StoredComment], Awaitable[T]]
) -> T | None:
    """Try, and retry with the current state after concurrent changes. Raises Unavailable."""
    for _ in range(TRIES):
        try:
            return await attempt(stored)
        except Overtaken:
            there = await moderation.whole([stored.id])
            if not there:
                return None
            (stored,) = there
    raise Unavailable()


async def _moderate(
    comments: Comments, stored: StoredComment, wanted: Edit, caller: Caller, seen: str
) -> None:
    """As an administrator wants it. Raises Changed, TooManyAtOnce, Unavailable."""
    html = await html_of(comments, codec.comment(stored), wanted.text, caller)

    async def attempt(stored: StoredComment) -> None:
        require_seen(stored, seen)
        after = edited(comments.display, codec.comment(stored), wanted, html, caller)
        await _put(comments, stored, after, wanted.status, caller, is_pinned=wanted.is_pinned)

    await until_settled(comments.moderation, stored, attempt)


def require_seen(stored: StoredComment, seen: str) -> None:
    """Raises Changed."""
    if not is_seen(stored, seen):
        raise Changed()


async def _rewrite(
    comments: Comments, stored: StoredComment, text: str, caller: Caller, seen: str
) -> None:
    """Apply its author's new text. Raises Changed, and the errors of a new comment."""
    require_seen(stored, seen)
    require_allowed(caller, comments.rules)
    await comments.accounts.bans.require_none(caller)
    await comments.counting.charge(caller.address, 1)
    if text == codec.comment(stored).source:
        return
    try:
        async with cooldown(comments.buckets, comments.rules, caller):
            await _store_words(comments, stored, text, caller)
    except TooFast:
        # This very edit may have started the cooldown, if its answer was lost and it is resent.
        now = await comments.moderation.whole([stored.id])
        if not now or codec.comment(now[0]).source != text:
            raise


async def _store_words(
    comments: Comments, stored: StoredComment, text: str, caller: Caller
) -> None:
    """Raises TooManyAtOnce, Duplicate, Unavailable."""
    approved = await _approved(comments.rules, comments.index, caller)
    written = codec.comment(stored)
    made = await made_of(comments, text, "", (written.nick, written.link), caller)
    ruled = verdict(caller, comments.rules, made, approved=approved)
    await comments.room.take(caller, made.html, text)

    async def attempt(stored: StoredComment) -> None:
        after = replace(codec.comment(stored), html=made.html, source=text, is_edited=False)
        await _put(comments, stored, after, _stricter(stored.status, ruled), caller)

    try:
        await until_settled(comments.moderation, stored, attempt)
    except AlreadyPublished:
        raise Duplicate() from None


async def _approved(rules: Rules, index: SiteIndex, caller: Caller) -> int:
    """How many approved comments an author has, where that matters."""
    account = caller.viewer.account
    if account is None or not rules.asks_for_trust:
        return 0
    return (await index.tallies([account.id]))[account.id]


async def _put(
    comments: Comments,
    stored: StoredComment,
    after: Comment,
    status: Status | None,
    caller: Caller,
    *,
    is_pinned: bool | None = None,
) -> None:
    """One attempt to store what differs. Raises Overtaken, AlreadyPublished."""
    has_other_words = after != codec.comment(stored)
    if not has_other_words and status is None and is_pinned is None:
        return
    await comments.moderation.moderate(
        stored,
        status,
        comments.process.clock(),
        actor_of(caller),
        is_pinned=is_pinned,
        after=after if has_other_words else None,
        is_own=not caller.viewer.is_moderator,
    )


def actor_of(caller: Caller) -> Actor:
    """Whose action it is: what administrators do is logged."""
    account = caller.viewer.account
    if account and caller.viewer.is_moderator:
        return Actor("moderator", account.id, caller.door)
    return Actor("author")


async def html_of(comments: Comments, comment: Comment, text: str, caller: Caller) -> str:
    """The HTML of a moderator's text for a comment; the existing one if the text is empty or
    unchanged. Raises TooManyAtOnce, Busy."""
    if not text or text == comment.source:
        return comment.html
    return (
        await comments.process.renderer.make(
            text, "", comments.pictures, None, pool_client_of(caller)
        )
    ).html


def edited(
    display: DisplayOptions, comment: Comment, wanted: Edit, html: str, caller: Caller
) -> Comment:
    """The comment with a moderator's changes: a text with this HTML, and the author's names if it
    has no account."""
    if wanted.text and wanted.text != comment.source:
        editor = caller.viewer.account.id if caller.viewer.account else ""
        is_edited = comment.account not in ("", editor)
        comment = replace(comment, html=html, source=wanted.text, is_edited=is_edited)
    return comment if comment.account else _renamed(display, comment, wanted)


def _stricter(status: Status, ruled: Status) -> Status | None:
    """The status after an author's edit: an unpublished comment stays unpublished."""
    if ruled == "approved" or (status, ruled) == ("spam", "waiting"):
        return None
    return ruled


def _renamed(display: DisplayOptions, comment: Comment, wanted: Edit) -> Comment:
    """With another name, email address or link, where one is given; tallies go by the new email."""
    nick = wanted.nick or comment.nick
    mail = wanted.mail or comment.mail
    link = safe_link(wanted.link) or comment.link
    if (nick, mail, link) == (comment.nick, comment.mail, comment.link):
        return comment
    address = (mail or "").strip().lower()
    avatar = display.avatar(nick or "", address, link or "")
    author = digest(address) if address else ""
    return replace(comment, nick=nick, mail=mail, link=link, avatar=avatar, author=author)


async def delete(comments: Comments, id: str, caller: Caller, seen: str = "") -> None:
    """Take a comment away: a root with all its replies, a reply with those that reply to it.

    Ids are never given out again. Raises Changed, Unauthorized, Forbidden, Unavailable.
    """
    stored = await _allowed(comments, id, caller)

    async def attempt(stored: StoredComment) -> None:
        require_seen(stored, seen)
        await comments.deletions.delete(stored, comments.process.clock(), actor_of(caller))

    if stored is not None:
        await until_settled(comments.moderation, stored, attempt)

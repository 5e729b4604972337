"""Changing comments that are stored: their words, status and pin, and taking them away.

Authors may change their words, and are judged anew by the rules for new comments; administrators
may do everything. Whoever may not is told so before they learn whether the comment exists.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from ..driver.keys import digest
from ..errors import Duplicate, Forbidden, Unauthorized, Unavailable
from ..markup import safe_link
from ..model import Caller, Comment, Showing, Status
from ..store.comments import AlreadyPublished
from ..store.ids import is_id
from ..store.moderation import Actor, Overtaken, Whole, Words
from .comments import with_authors
from .counters import charge
from .rules import require_allowed, verdict
from .service import Service

T = TypeVar("T")

# How often what somebody else has changed meanwhile is read again.
TRIES = 20


@dataclass(frozen=True, slots=True)
class Edit:
    """What to change of a comment; None, or an empty text, stays as it is.

    Of an author only `text` counts. Name, mail and link are for comments without an account.
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


async def edit(service: Service, id: str, wanted: Edit, caller: Caller) -> Showing | None:
    """The comment as it is now; None when an administrator names none, or nothing was to be done.

    Raises Unauthorized, Forbidden, Banned, TooMany, Duplicate and Unavailable.
    """
    service.bans.look()
    found = await _allowed(service, id, caller)
    is_moderator = caller.viewer.is_administrator
    if found is None or wanted.is_blank(found.comment.account):
        return None
    if not is_moderator and not wanted.text:
        return None
    if not is_moderator:
        require_allowed(caller, service.rules)
        await service.bans.require_none(caller)
        await charge(service, caller.address, 1)
    attempt = partial(_edit_once, service, wanted, caller, await _approved(service, caller))
    await until_settled(service, found, attempt)
    shown = await service.comments.by_ids([id])
    return await with_authors(service, shown, caller.viewer) if shown else None


async def _allowed(service: Service, id: str, caller: Caller) -> Whole | None:
    """The comment, if the caller may change it; None if there is none, for administrators.

    Raises Unauthorized for the public, and Forbidden for everybody else: also where there is no
    such comment.
    """
    account = caller.viewer.account
    if account is None:
        raise Unauthorized()
    found = await service.moderation.whole([id]) if is_id(id) else []
    is_author = bool(found) and found[0].shown.body.account == account.id
    if not (is_author or caller.viewer.is_administrator):
        raise Forbidden()
    return found[0] if found else None


async def until_settled(
    service: Service, found: Whole, attempt: Callable[[Whole], Awaitable[T]]
) -> T | None:
    """Try, and read again what somebody else has changed meanwhile. Raises Unavailable."""
    for _ in range(TRIES):
        try:
            return await attempt(found)
        except Overtaken:
            there = await service.moderation.whole([found.shown.id])
            if not there:
                return None
            (found,) = there
    raise Unavailable()


async def _approved(service: Service, caller: Caller) -> int:
    """How many approved comments an author has, where that matters."""
    account = caller.viewer.account
    if account is None or caller.viewer.is_administrator or not service.rules.asks_for_trust:
        return 0
    return (await service.site_index.tallies([account.id]))[account.id]


async def _edit_once(
    service: Service, wanted: Edit, caller: Caller, approved: int, found: Whole
) -> None:
    """Raises Overtaken, Duplicate."""
    shown, is_own = found.shown, not caller.viewer.is_administrator
    before, status, is_pinned = found.comment, wanted.status, wanted.is_pinned
    if is_own:
        after, status = await _rewritten(service, found, wanted.text, caller, approved)
        is_pinned = None
    else:
        after = await edited(service, before, wanted)
    words = Words(found, after, is_compared=is_own) if after != before else None
    if words is None and status is None and is_pinned is None:
        return
    try:
        await service.moderation.moderate(
            shown, status, service.clock(), actor_of(caller), is_pinned=is_pinned, words=words
        )
    except AlreadyPublished:
        raise Duplicate() from None


async def _rewritten(
    service: Service, found: Whole, text: str, caller: Caller, approved: int
) -> tuple[Comment, Status | None]:
    """A comment with its author's other words, and what it is to be then; None: what it is."""
    before = found.comment
    if not text or text == before.source:
        return before, None
    made = await service.renderer.make(text, "", service.rules.forbidden)
    judged = verdict(caller, service.rules, made, approved=approved)
    return replace(before, html=made.html, source=text), _stricter(found.shown.status, judged)


def actor_of(caller: Caller) -> Actor:
    """Whose action it is: what administrators do is logged."""
    account = caller.viewer.account
    if account and caller.viewer.is_administrator:
        return Actor("moderator", account.id)
    return Actor("author")


async def edited(service: Service, comment: Comment, wanted: Edit) -> Comment:
    """The comment as a moderator wants it: its words, and who wrote it if it has no account."""
    if wanted.text and wanted.text != comment.source:
        made = await service.renderer.make(wanted.text, "", None)
        comment = replace(comment, html=made.html, source=wanted.text)
    return comment if comment.account else _renamed(service, comment, wanted)


def _stricter(status: Status, judged: Status) -> Status | None:
    """What an author's other words are to be: what a moderator holds is not let go by them."""
    if judged == "approved" or (status, judged) == ("spam", "waiting"):
        return None
    return judged


def _renamed(service: Service, comment: Comment, wanted: Edit) -> Comment:
    """With another name, mail address or link, where one is given; a mail is whoever it is counted
    for."""
    nick = wanted.nick or comment.nick
    mail = wanted.mail or comment.mail
    link = safe_link(wanted.link) or comment.link
    if (nick, mail, link) == (comment.nick, comment.mail, comment.link):
        return comment
    known = (mail or "").strip().lower()
    avatar = service.display.avatar(nick or "", known, link or "")
    author = digest(known) if known else ""
    return replace(comment, nick=nick, mail=mail, link=link, avatar=avatar, author=author)


async def delete(service: Service, id: str, caller: Caller) -> None:
    """Take a comment away: a root with all its replies, a reply with those that reply to it.

    Ids are never given out again. Raises Unauthorized, Forbidden and Unavailable.
    """
    found = await _allowed(service, id, caller)
    if found is not None:
        await take_away(service, found, actor_of(caller))


async def take_away(service: Service, found: Whole, actor: Actor) -> bool:
    """False if it was deleted before. Raises Unavailable."""

    async def attempt(found: Whole) -> bool:
        left = await service.deletions.delete(found.shown, service.clock(), actor)
        return left is not None

    return bool(await until_settled(service, found, attempt))

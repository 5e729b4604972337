"""Changing comments that are stored: their words, status and pin, and taking them away.

Authors may change their words, and are judged anew by the rules for new comments; administrators
may do everything. Whoever may not is told so before they learn whether the comment exists.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..errors import Duplicate, Forbidden, StoreUnavailable, Unauthorized, Unavailable
from ..markup import safe_link
from ..model import Caller, Comment, Showing, Shown, Status
from ..store.codec import parent_of
from ..store.comments import AlreadyPublished, Change
from ..store.ids import is_id
from ..store.moderation import STEP_COMMENTS, Overtaken, Whole, Words
from .announcements import announce, announce_as_it_is
from .comments import with_authors
from .counters import charge
from .rules import require_allowed, verdict
from .service import Service

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


async def edit(service: Service, id: str, wanted: Edit, caller: Caller) -> Showing | None:
    """The comment as it is now; None when an administrator names none, or nothing was to be done.

    Raises Unauthorized, Forbidden, Banned, TooMany, Duplicate and Unavailable.
    """
    service.bans.look()
    found = await _allowed(service, id, caller)
    is_moderator = caller.viewer.is_administrator
    if found is None or not (is_moderator or wanted.text):
        return None
    if not is_moderator:
        require_allowed(caller, service.rules)
        await service.bans.require_none(caller)
        await charge(service, caller.address, 1)
    attempt = partial(_edit_once, service, wanted, caller, await _approved(service, caller))
    change = await until_settled(service, found, attempt)
    if change and (change.status != change.was or change.entry):
        await announce(service, change)
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
    service: Service, found: Whole, attempt: Callable[[Whole], Awaitable[Change | None]]
) -> Change | None:
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
) -> Change | None:
    """Raises Overtaken, Duplicate; None if nothing was to be done, or the comment is gone."""
    before, shown, is_own = found.comment, found.shown, not caller.viewer.is_administrator
    after, status, is_pinned = before, wanted.status, wanted.is_pinned
    if is_own or found.root:
        is_pinned = None
    if is_own:
        status = None
    if wanted.text and wanted.text != before.source:
        forbidden = service.rules.forbidden if is_own else None
        made = await service.renderer.make(wanted.text, "", forbidden)
        after = replace(after, html=made.html, source=wanted.text)
        if is_own:
            judged = verdict(caller, service.rules, made, approved=approved)
            status = _stricter(shown.status, judged)
    if not (is_own or before.account):
        after = _renamed(service, after, wanted)
    words = Words(found, after, is_compared=is_own) if after != before else None
    if words is None and status is None and is_pinned is None:
        return None
    try:
        change = await service.moderation.moderate(
            shown, status, service.clock(), is_pinned=is_pinned, words=words,
            by="author" if is_own else "moderator",
        )  # fmt: skip
    except AlreadyPublished:
        raise Duplicate() from None
    except StoreUnavailable:
        announce_as_it_is(service, shown, status or shown.status)
        raise
    return change and (change if is_own else logged(change, caller, shown, is_pinned, words))


def _stricter(status: Status, judged: Status) -> Status | None:
    """What an author's other words are to be: what a moderator holds is not let go by them."""
    if judged == "approved" or (status, judged) == ("spam", "waiting"):
        return None
    return judged


def _renamed(service: Service, comment: Comment, wanted: Edit) -> Comment:
    """With another name, mail address or link, where one is given."""
    nick = wanted.nick or comment.nick
    mail = wanted.mail or comment.mail
    link = safe_link(wanted.link) or comment.link
    if (nick, mail, link) == (comment.nick, comment.mail, comment.link):
        return comment
    avatar = service.display.avatar(nick or "", (mail or "").strip().lower(), link or "")
    return replace(comment, nick=nick, mail=mail, link=link, avatar=avatar)


async def delete(service: Service, id: str, caller: Caller) -> None:
    """Take a comment away: a root with all its replies, a reply with those that reply to it.

    Ids are never given out again. Raises Unauthorized, Forbidden and Unavailable.
    """
    found = await _allowed(service, id, caller)
    if found is not None:
        await take_away(service, found, caller)


async def take_away(service: Service, head: Whole, caller: Caller) -> list[Whole]:
    """Delete a comment with what goes with it: all of that, as it was.

    Replies go first, STEP_COMMENTS in a step of Redis, and the comment itself with the last of
    them: wherever this ends, what is left is a whole thread, and can be deleted again. Raises
    Unavailable.
    """
    gone, after, tries = list[Whole](), "", TRIES
    is_there, root = True, head.root or head.shown.id
    while True:
        ids = await service.moderation.replies(root, after)
        part = [each for each in await service.moderation.whole(ids) if _goes_with(head, each)]
        is_end = len(ids) < STEP_COMMENTS
        whole_thread = is_end and not head.root
        try:
            batch = [*part, head] if is_end and is_there else part
            gone += await _delete(service, batch, caller, is_thread=whole_thread)
        except Overtaken:
            found = await service.moderation.whole([head.shown.id])
            tries, after, is_there = tries - 1, "", bool(found)
            head = found[0] if found else head
            if not tries:
                raise Unavailable() from None
            if not (is_there or head.root):
                return gone
            continue
        after = ids[-1] if ids else ""
        if is_end and (whole_thread or not is_there):
            return gone
        if is_end:
            # From now on nobody can reply to it; somebody may have done so just before.
            is_there, after = False, ""


def _goes_with(head: Whole, reply: Whole) -> bool:
    return not head.root or parent_of(reply.shown.body) == head.shown.id


async def _delete(
    service: Service, comments: Sequence[Whole], caller: Caller, *, is_thread: bool
) -> list[Whole]:
    if not comments:
        return []
    try:
        gone = await service.moderation.delete(comments, service.clock(), is_thread=is_thread)
    except StoreUnavailable:
        for each in comments:
            announce_as_it_is(service, each.shown, "deleted")
        raise
    if caller.viewer.is_administrator:
        gone = [(each, logged(change, caller, each.shown)) for each, change in gone]
    await asyncio.gather(*(announce(service, change) for _, change in gone))
    return [each for each, _ in gone]


def logged(
    change: Change, caller: Caller, before: Shown, is_pinned: bool | None = None,
    words: Words | None = None,
) -> Change:  # fmt: skip
    """With an entry for the log: who did what to which comment, and how it was before and is now.

    It has no words of the comment: what is deleted must not live on there.
    """
    account = caller.viewer.account
    was, now = [str(change.was or "deleted")], [str(change.status)]
    if change.status != "deleted" and is_pinned not in (None, before.is_pinned):
        (now if is_pinned else was).append("pinned")
    if words:
        was.append(f"{len(words.before.comment.source)} characters")
        now.append(f"{len(words.after.source)} characters")
    if was == now and not words:
        return change
    did = "delete" if change.status == "deleted" else "edit" if words else "moderate"
    if change.was is None:
        did = "restore"
    by = account.id if account else ""
    entry = ("by", by, "did", did, "id", change.id, "was", ", ".join(was), "now", ", ".join(now))
    return replace(change, entry=entry)

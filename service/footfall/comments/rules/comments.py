"""Publishing and reading comments: permissions and the order of the steps.

Once a comment is stored on its page, no later failure turns the answer into an error.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ...accounts.rules.captcha import Proof
from ...errors import Duplicate, NoSuchParent, TooFast, Unavailable
from ...ids import created_ms, digest, is_id
from ...limits.clients import pool_client_of
from ...model import (
    BY_ACCOUNT,
    Account,
    Caller,
    Comment,
    Draft,
    Lookups,
    Order,
    Page,
    Status,
    StoredComment,
    Viewer,
    account_of,
)
from ...netaddr import limit_key
from ...permissions import account_id
from ...process.renderer import Names, RenderedText
from ..noun import Comments
from ..store.codec import address_of, body, parent_of, parse_body, secrets
from ..store.comments import CommentStore, Preconditions
from ..store.outcomes import AlreadyPublished, IdTaken
from .admission import require_allowed, verdict
from .closing import require_open
from .cooldown import cooldown

# A comment that is repeated within this time is a retry by a client that got no answer.
RETRY_WINDOW_MS = 60_000
# Attempts to store a comment whose id is taken, or whose thread was moved meanwhile.
TRIES = 5


async def publish(
    comments: Comments, draft: Draft, caller: Caller, *, is_once: bool = False
) -> tuple[StoredComment, Lookups]:
    """Store a comment and return it as its author sees it.

    Raises Banned, Forbidden, Duplicate, CommentsClosed, NoSuchParent, TooFast and CaptchaFailed, in
    that order; then nothing is stored. A retry of a stored comment returns it; an administrator's
    does only with `is_once`, since they may post the same text twice.
    """
    is_exempt = caller.viewer.is_moderator
    try:
        return await _publish(comments, draft, caller, has_twins=is_exempt and not is_once)
    except AlreadyPublished as stored:
        try:
            now_ms = comments.process.clock()
            return await _answer_retry(comments.store, draft, caller, stored.id, now_ms)
        except Duplicate:
            if not is_exempt:
                raise
    # The same text as a reply to another comment.
    return await _publish(comments, draft, caller, has_twins=True)


def _written(
    comments: Comments, id: str, draft: Draft, root: str, made: RenderedText, caller: Caller
) -> Comment:
    comment = Comment(
        id,
        draft.path,
        created_ms(id),
        made.html,
        draft.text,
        ua=draft.ua,
        browser=made.browser,
        os=made.os,
        address=caller.address,
        parent=draft.parent,
        root=root,
    )
    author = account_id(caller)
    return with_author(comments, comment, author, nick=draft.nick, mail=draft.mail, link=draft.link)


async def _publish(
    comments: Comments, draft: Draft, caller: Caller, *, has_twins: bool
) -> tuple[StoredComment, Lookups]:
    """With `has_twins` there may be the same comment already."""
    rules = comments.rules
    searched = await comments.accounts.bans.require_none(caller, draft.mail or "")
    captcha, proof = comments.accounts.captcha, Proof(draft.captcha)
    if not draft.captcha:
        await captcha.require_for_comment(proof, caller)
    require_allowed(caller, rules)
    read = partial(_before, comments, caller=caller, searched=searched, has_twins=has_twins)
    draft, before = await read(draft)
    try:
        async with cooldown(comments.buckets, rules, caller):
            if draft.captcha:
                # It is valid once: not for a comment that is refused anyway. What was read may have
                # changed while it was verified.
                await captcha.require_for_comment(proof, caller)
                draft, before = await read(draft)
            id = comments.process.new_id(draft.path)
            names = draft.nick, draft.link
            made = await made_of(comments, draft.text, draft.ua, names, caller)
            status = verdict(caller, rules, made, approved=before.approved)
            comment = _written(comments, id, draft, before.root or "", made, caller)
            await comments.room.take(caller, made.html, draft.text)
            comment = await _store(comments, comment, status, before.fingerprint)
    except TooFast:
        # This very comment may have started the cooldown, if a first request stored it just now:
        # then this raises AlreadyPublished instead.
        await comments.store.before(draft, account_id(caller), has_twins=has_twins)
        raise
    stored = StoredComment(comment.id, comment.path, parse_body(body(comment)), status=status)
    return stored, Lookups(_accounts(caller), secrets={stored.id: secrets(comment)})


async def made_of(
    comments: Comments, text: str, ua: str | None, names: Names, caller: Caller
) -> RenderedText:
    """An author's rendered text, with the forbidden words and bans that it matches, unless the
    author is exempt. An account's own `names` replace those entered. Raises TooManyAtOnce, Busy."""
    forbidden, banned, bans = comments.rules.forbidden, None, comments.accounts.bans
    if account := caller.viewer.account:
        names = account.nick, account.link
    if caller.viewer.is_moderator:
        forbidden = None
    elif bans.reads_texts:
        banned = partial(bans.in_text, link=names[1] or "")
    # To search is the dearest check, so it is the last one, and runs in the renderer's thread.
    made = await comments.process.renderer.make(
        text, ua or "", comments.pictures, forbidden, pool_client_of(caller), banned, names
    )
    bans.note_caught(made.banned)
    return made


async def _before(
    comments: Comments, draft: Draft, *, caller: Caller, searched: int, has_twins: bool
) -> tuple[Draft, Preconditions]:
    """The draft, on the page where its parent is. In bans of the version `searched` the caller is
    not. Raises Banned, CommentsClosed, NoSuchParent, AlreadyPublished."""
    before = await comments.store.before(
        draft, account_id(caller), has_twins=has_twins, asks_for_trust=comments.rules.asks_for_trust
    )
    await comments.accounts.bans.follow(before.bans)
    if before.bans != searched:
        await comments.accounts.bans.require_none(caller, draft.mail or "")
    require_open(before.closes, before.first_ms, comments.process.clock, caller)
    if draft.parent and not before.root:
        moved = await comments.forwards.follow(draft.parent)
        if moved in (None, (draft.path, draft.parent)):
            raise NoSuchParent()
        draft = replace(draft, path=moved[0], parent=moved[1])
        return await _before(comments, draft, caller=caller, searched=searched, has_twins=has_twins)
    return draft, before


async def _answer_retry(
    comments: CommentStore, draft: Draft, caller: Caller, id: str, now_ms: int
) -> tuple[StoredComment, Lookups]:
    """The stored comment with this text, as in the first answer.

    A client that got no answer sends its comment again, and must learn that it is stored. Raises
    Duplicate if the stored one is older than RETRY_WINDOW_MS or replies to another comment: then
    the author has posted the same text twice.
    """
    if now_ms - created_ms(id) >= RETRY_WINDOW_MS:
        raise Duplicate()
    stored, hidden = await asyncio.gather(comments.by_ids([id]), comments.secrets([id]))
    if not stored or parent_of(stored[0].body) != draft.parent:
        raise Duplicate()
    # Without an account or an email address, two people may have the same name and the same words:
    # then the address has to be the same, too.
    is_known = caller.viewer.account or draft.mail
    address = address_of(hidden.get(id, b"{}"))
    if not is_known and limit_key(address) != limit_key(caller.address):
        raise Duplicate()
    first = stored[0]._replace(likes=0, is_pinned=False)
    return first, Lookups(_accounts(caller), secrets=hidden)


def _accounts(caller: Caller) -> dict[str, Account | None]:
    account = caller.viewer.account
    return {account.id: account} if account else {}


async def _store(comments: Comments, comment: Comment, status: Status, fingerprint: str) -> Comment:
    """The comment as it is stored. Raises AlreadyPublished, NoSuchParent, Unavailable."""
    for _ in range(TRIES):
        try:
            await comments.store.publish(comment, status, fingerprint)
            return comment
        except IdTaken:
            id = comments.process.new_id(comment.path)
            comment = replace(comment, id=id, at=created_ms(id))
    raise Unavailable()


def with_author(
    comments: Comments,
    comment: Comment,
    account: str | None,
    *,
    nick: str | None,
    mail: str | None,
    link: str | None,
) -> Comment:
    """Add the region of the address, and the author: an account, or the names entered."""
    region = comments.process.region_of(comment.address)
    comment = replace(comment, region=region.public, full_region=region.full)
    if account:
        return replace(comment, account=account, author=account)
    address = (mail or "").strip().lower()
    return replace(
        comment,
        nick=nick,
        mail=mail,
        link=link,
        avatar=comments.display.avatar(nick or "", address, link or ""),
        author=digest(address) if address else "",
    )


async def page(
    comments: Comments,
    path: str,
    *,
    number: int,
    size: int,
    order: Order,
    viewer: Viewer,
    root: str = "",
    after: str = "",
) -> tuple[Page, Lookups]:
    """Page `number`, from 1, of an article's comments, and their authors as they are now.

    With the id of a `root`, that comment alone with `size` of its replies, those that follow the
    reply with the id `after`.
    """
    page = await comments.store.page(
        path,
        first=(number - 1) * size,
        size=size,
        order=order,
        viewer=viewer,
        root=root,
        after=after,
    )
    threads = page.threads
    return page, await _live(comments, threads.ids, threads.persons, threads.tallies, viewer)


async def recent(
    comments: Comments, ids: Sequence[str], count: int, viewer: Viewer
) -> tuple[tuple[int, ...], Sequence[StoredComment], Lookups]:
    """Up to `count` of these comments that the viewer may see; first the versions of their
    pages."""
    versions, stored = await comments.recent.read(ids, count, viewer)
    return versions, stored, await lookups(comments, stored, viewer)


async def like(
    comments: Comments, id: str, delta: int, caller: Caller
) -> tuple[StoredComment, Lookups] | None:
    """Like a comment, or take a like back; None when the caller sees no comment with that id.

    Raises Banned, and TooMany as other counters do, whether the comment exists or not.
    """
    if not is_id(id):
        return None
    comments.accounts.bans.look()
    await comments.counting.charge(caller.address, 1)
    await comments.accounts.bans.require_none(caller)
    now_ms = comments.process.clock()
    liked = await comments.store.like(id, delta, now_ms, caller.viewer)
    if not liked and (moved := await comments.forwards.follow(id)):
        liked = await comments.store.like(moved[1], delta, now_ms, caller.viewer)
    return (liked, await lookups(comments, [liked], caller.viewer)) if liked else None


async def lookups(comments: Comments, stored: Sequence[StoredComment], viewer: Viewer) -> Lookups:
    """What stored comments of any pages are shown with, as it is now."""
    ids = [comment.id.encode() for comment in stored]
    persons = [comment.body.person for comment in stored]
    tallies = [comment.body.tally for comment in stored]
    return await _live(comments, ids, persons, tallies, viewer)


async def _live(
    comments: Comments,
    ids: Sequence[bytes],
    persons: Sequence[bytes],
    tallies: Sequence[bytes],
    viewer: Viewer,
) -> Lookups:
    """Data looked up whenever comments are shown: accounts, levels; secrets for administrators.

    It takes one round trip, or none if there is nothing to look up.
    """
    accounts = {account_of(person) for person in persons if person.startswith(BY_ACCOUNT)}
    authors = {tally.decode() for tally in tallies} - {""} if comments.display.levels else set()
    if not (accounts or authors or viewer.is_moderator):
        return Lookups()
    stored, administrators, counts, secrets = await asyncio.gather(
        comments.accounts.store.by_ids(accounts),
        comments.accounts.lookalikes.administrators(viewer),
        comments.index.tallies(sorted(authors)),
        comments.store.secrets([id.decode() for id in ids] if viewer.is_moderator else []),
    )
    return Lookups(dict.fromkeys(accounts) | stored, counts, secrets, administrators)

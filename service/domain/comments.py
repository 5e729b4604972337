"""Publishing and reading comments: the order of the steps, and who may do what.

Publishing stores the truth first and tells the site's indexes second; once it is stored, nothing
that happens afterwards turns the answer into an error.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from ..errors import Duplicate, Forbidden, NoSuchParent, Refused, StoreUnavailable, Unauthorized
from ..model import Caller, Comment, Draft, Order, Page, Shown, Status, Viewer
from ..render.agent import describe
from ..render.markdown import render
from ..render.sanitize import link as safe_link
from ..store.comments import Change, Taken
from ..store.ids import born, is_id
from ..store.keys import digest
from .moderation import limit_key, verdict
from .service import Service

log = logging.getLogger(__name__)

# Seconds between attempts to tell the site's indexes of a comment that is stored already.
ANNOUNCE_AGAIN = (1, 2, 4, 8, 16, 32)
_announcing: set[asyncio.Task[None]] = set()


async def publish(service: Service, draft: Draft, caller: Caller) -> Shown:
    """Store a comment and show it to its author.

    Raises Forbidden, Duplicate, NoSuchParent and TooFast, in that order; nothing is stored then.
    """
    text = draft.text
    if draft.is_mentioning and draft.parent and draft.at:
        text = f"[@{draft.at}](#{draft.parent}): {text}"
    status = verdict(text, caller, service.rules)

    is_exempt = caller.viewer.is_administrator
    fingerprint = "" if is_exempt else _fingerprint(draft, caller, text)
    parent, is_said = await service.store.comments.look(draft.path, draft.parent, fingerprint)
    if is_said:
        raise Duplicate()
    if draft.parent and not parent:
        raise NoSuchParent()

    window_ms = service.rules.window_ms
    gate_key = limit_key(caller.address)
    id = service.mint.new(service.clock(), draft.path)
    if window_ms:
        await service.store.gate.admit(gate_key, id, window_ms=window_ms, is_exempt=is_exempt)
    # Off the event loop: a long comment takes some hundred ms to render, and views go on meanwhile.
    html = await asyncio.to_thread(render, text)
    comment = _written(service, draft, caller, text, html, parent, id)
    try:
        change = await _store(service, comment, status, fingerprint)
    except Refused:
        # Somebody was faster with the same words: this address has not posted.
        if window_ms:
            await service.store.gate.release(gate_key, id)
        raise
    await announce(service, change)
    return Shown(replace(comment, id=change.id), status=status, author=caller.viewer.account)


async def _store(service: Service, comment: Comment, status: Status, fingerprint: str) -> Change:
    while True:
        try:
            return await service.store.comments.publish(comment, status, fingerprint)
        except Taken:
            id = service.mint.new(service.clock(), comment.path)
            comment = replace(comment, id=id, at=born(id))


def _written(
    service: Service,
    draft: Draft,
    caller: Caller,
    text: str,
    html: str,
    parent: Comment | None,
    id: str,
) -> Comment:
    """A draft with everything made of it that its readers will see."""
    browser, os = describe(draft.ua or "")
    region = service.region_of(caller.address)
    account = caller.viewer.account
    link = None if draft.link is None else safe_link(draft.link)
    mail = account.mail if account else draft.mail or ""
    return Comment(
        id=id,
        path=draft.path,
        at=born(id),
        html=html,
        source=text,
        nick=account.nick if account else draft.nick,
        mail=account.mail if account else draft.mail,
        link=account.link if account else link,
        ua=draft.ua,
        browser=browser,
        os=os,
        region=region.public,
        full_region=region.full,
        avatar=service.look.avatar(draft.nick or "", mail, link or ""),
        address=caller.address,
        parent=parent.id if parent else "",
        root=(parent.root or parent.id) if parent else "",
        account=account.id if account else "",
        author=account.id if account else digest(mail.strip().lower()) if mail.strip() else "",
    )


def _fingerprint(draft: Draft, caller: Caller, text: str) -> str:
    """What makes two comments on a page the same: who wrote them, and the words."""
    account = caller.viewer.account
    if account:
        return digest(account.id, text)
    return digest(draft.mail or "", draft.nick or "", draft.link or "", text)


async def announce(service: Service, change: Change) -> None:
    """Tell the site's indexes of a change; if Redis has just gone, try again in the background."""
    try:
        await service.store.site.announce(change)
    except StoreUnavailable:
        task = asyncio.create_task(_announce_again(service, change))
        _announcing.add(task)
        task.add_done_callback(_announcing.discard)


async def _announce_again(service: Service, change: Change) -> None:
    for delay in ANNOUNCE_AGAIN:
        await asyncio.sleep(delay)
        try:
            await service.store.site.announce(change)
            return
        except StoreUnavailable:
            continue
    log.error(
        "comment %s is stored, but the site's indexes were not told: run `footfall check --repair`",
        change.id,
    )


async def page(
    service: Service, path: str, *, number: int, size: int, order: Order, viewer: Viewer
) -> Page:
    """One page of an article's comments, with their authors as they are now."""
    found = await service.store.comments.page(
        path, first=(number - 1) * size, size=size, order=order, viewer=viewer
    )
    return replace(found, roots=await _with_authors(service, found.roots, viewer))


async def recent(service: Service, count: int, viewer: Viewer) -> Sequence[Shown]:
    """The newest comments of the site that the viewer may see."""
    ids = await service.store.site.recent(count, viewer)
    if not ids:
        return ()
    return await _with_authors(service, await service.store.comments.by_ids(ids), viewer)


async def like(service: Service, id: str, delta: int, viewer: Viewer) -> Shown | None:
    """Like a comment, or take a like back; None when there is none with that id."""
    if not is_id(id):
        return None
    liked = await service.store.comments.like(id, delta)
    if liked is None:
        return None
    return (await _with_authors(service, [liked], viewer))[0]


def require_administrator(viewer: Viewer) -> None:
    """Raises Unauthorized for the public, Forbidden for everybody else."""
    if viewer.account is None:
        raise Unauthorized()
    if not viewer.is_administrator:
        raise Forbidden()


async def moderate(
    service: Service, id: str, viewer: Viewer, *, status: Status | None, is_pinned: bool | None
) -> Shown | None:
    """Give a comment another status, or pin it; None when there is none with that id.

    Raises Unauthorized and Forbidden, before the comment is looked for: a stranger must not learn
    which ids there are.
    """
    require_administrator(viewer)
    found = await service.store.comments.by_ids([id]) if is_id(id) else []
    if not found:
        return None
    comment = found[0].comment
    if status is not None:
        change = await service.store.comments.moderate(comment, status)
        if change:
            await announce(service, change)
    if is_pinned is not None and not comment.root:
        await service.store.comments.pin(id, is_pinned)
    found = await service.store.comments.by_ids([id])
    return (await _with_authors(service, found, viewer))[0] if found else None


async def _with_authors(
    service: Service, roots: Sequence[Shown], viewer: Viewer
) -> tuple[Shown, ...]:
    """Add what is looked up live: accounts and levels; for administrators, the secrets too.

    All of it in one round trip, and in none when there is nothing to look up.
    """
    everything = [each for root in roots for each in (root, *root.replies)]
    accounts, tallies, whole = await asyncio.gather(
        service.store.accounts.by_ids(e.comment.account for e in everything if e.comment.account),
        service.store.site.tallies(_authors(service, everything)),
        service.store.comments.secrets(everything if viewer.is_administrator else []),
    )

    def complete(shown: Shown) -> Shown:
        comment = shown.comment
        return replace(
            shown,
            comment=whole.get(comment.id, comment),
            author=accounts.get(comment.account),
            level=service.look.level(tallies.get(comment.author, 0)),
            replies=tuple(complete(reply) for reply in shown.replies),
        )

    return tuple(complete(root) for root in roots)


def _authors(service: Service, shown: Sequence[Shown]) -> list[str]:
    if not service.look.levels:
        return []
    return sorted({each.comment.author for each in shown if each.comment.author})

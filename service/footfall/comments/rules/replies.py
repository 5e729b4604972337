"""Replies by moderators, from the queue, which approve the parent."""

from ...errors import NoSuchParent
from ...ids import is_id
from ...limits.clients import pool_client_of
from ...model import Caller, Draft, Lookups, StoredComment
from ..noun import Comments
from . import actions
from .comments import publish
from .moderation import require_seen
from .orders import Order
from .progress import Action


async def reply(
    comments: Comments, id: str, text: str, ua: str | None, caller: Caller, *, seen: str, name: str
) -> tuple[StoredComment, Lookups, Action]:
    """The reply, and the action of this name that approves its parent, if that is what was `seen`.
    Raises Changed, NoSuchParent, Busy.

    The reply is stored first: if the rest is lost, no comment is approved without its reply. After
    a lost answer, a retry within a minute is the same reply.
    """
    found = await comments.store.by_ids([id]) if is_id(id) else []
    if not found:
        raise NoSuchParent()
    if not await _is_own_decision(comments, id, name):
        require_seen(found[0], seen)
    draft = Draft(text, found[0].path, ua=ua, parent=id)
    stored, live = await publish(comments, draft, caller, is_once=True)
    # Without a version, keep at least other moderators' concurrent decisions.
    parent = {id: seen or found[0].status}
    order = Order("approved")
    return stored, live, await actions.carry_out(comments, order, parent, caller, name=name)


async def _is_own_decision(comments: Comments, id: str, name: str) -> bool:
    """Was the comment approved by this very action, whose answer was lost?"""
    last = (await comments.moderation.decisions([id])).get(id) if name else None
    return last is not None and last.actor.action == name


async def preview(comments: Comments, text: str, caller: Caller) -> str:
    """The HTML that a comment of this text will have. Raises TooManyAtOnce, Busy."""
    renderer = comments.process.renderer
    return (await renderer.make(text, "", comments.pictures, None, pool_client_of(caller))).html

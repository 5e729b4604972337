"""Replies by moderators, from the queue, which approve the parent."""

from ...errors import NoSuchParent
from ...model import Caller, Draft, Lookups, StoredComment
from ...process.shares import queued_client_of
from ...site import Comments
from ..store.ids import is_id
from . import bulk
from .bulk import BulkResult
from .comments import publish


async def reply(
    comments: Comments, id: str, text: str, ua: str | None, caller: Caller
) -> tuple[StoredComment, Lookups, BulkResult]:
    """The reply, and the result for its parent. Raises NoSuchParent, Busy.

    The reply is stored first: if the rest is lost, no comment is approved without its reply. After
    a lost answer, a retry within a minute is the same reply.
    """
    found = await comments.store.by_ids([id]) if is_id(id) else []
    if not found:
        raise NoSuchParent()
    draft = Draft(text, found[0].path, ua=ua, parent=id)
    stored, live = await publish(comments, draft, caller, is_once=True)
    # Keep other moderators' concurrent decisions.
    seen = {id: found[0].status}
    return stored, live, await bulk.moderate(comments, [id], caller, status="approved", seen=seen)


async def preview(comments: Comments, text: str, caller: Caller) -> str:
    """The HTML that a comment of this text will have. Raises TooManyAtOnce, Busy."""
    renderer = comments.process.renderer
    return (await renderer.make(text, "", comments.pictures, None, queued_client_of(caller))).html

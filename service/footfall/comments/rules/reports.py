"""Reports by readers: enough of them put a comment back to pending, once."""

from ...errors import NotFound
from ...ids import is_id
from ...model import MODERATORS, Caller, StoredComment
from ...netaddr import limit_key
from ..noun import Comments
from ..store import codec
from ..store.moderation import Actor
from .moderation import until_settled

# A report is looked at by people.
TOKENS = 10


async def report(comments: Comments, id: str, caller: Caller) -> bool:
    """Report a comment; False if the public sees none with that id. Raises NotFound if the site
    takes no reports, Banned, TooMany."""
    after = comments.rules.report_after
    if not after:
        raise NotFound()
    comments.accounts.bans.look()
    await comments.counting.charge(caller.address, TOKENS)
    await comments.accounts.bans.require_none(caller)
    if not is_id(id):
        return False
    moved = await comments.forwards.follow(id)
    found = await comments.moderation.whole([moved[1] if moved else id])
    if not found or found[0].status != "approved":
        return False
    number = await comments.reports.add(found[0].id, limit_key(caller.address))
    if number >= after and not await _is_by_staff(comments, found[0]):
        await _hold(comments, found[0])
    return True


async def _is_by_staff(comments: Comments, stored: StoredComment) -> bool:
    account = codec.comment(stored).account
    known = await comments.accounts.store.by_ids({account}) if account else {}
    return account in known and known[account].role in MODERATORS


async def _hold(comments: Comments, stored: StoredComment) -> None:
    """Raises Unavailable."""

    async def attempt(stored: StoredComment) -> None:
        # A moderator may have been faster.
        if stored.status == "approved":
            now_ms = comments.process.clock()
            await comments.moderation.moderate(stored, "waiting", now_ms, Actor("readers"))

    await until_settled(comments.moderation, stored, attempt)
    # After the change: if this is lost, the next report repeats it.
    await comments.reports.note_held(stored.id)

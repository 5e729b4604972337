"""Banning and lifting bans, by administrators, and ended bans.

A ban of an account is its role `banned`, and an entry in the list with reason and end. The account
is changed first, since that may be rejected; the list follows. A listed account can neither write
nor log in, whatever its role: wherever this is interrupted, a banned person stays banned, and a
retry does the rest.
"""

from collections.abc import Container
from dataclasses import replace

from ...accounts.rules import accounts
from ...accounts.rules.accounts import Changes
from ...accounts.rules.ban_list import NOT_BANNABLE, kind_of, value_of
from ...accounts.rules.bans import KnownBans
from ...accounts.store.log import ModerationLog
from ...errors import Forbidden, Refused
from ...model import MODERATORS, Account, Ban, Caller, Credentials, Role
from ...permissions import require_administrator
from ..noun import Comments

# Characters of a reason.
MAX_REASON = 200
# Bans that have ended and are taken off the list together.
MAX_ENDED = 100
NOTHING_ELSE = Changes()
LOCKS_OUT = "This would lock out the account whose owner has confirmed this email"


async def ban(
    comments: Comments,
    text: str,
    caller: Caller,
    *,
    until_ms: int = 0,
    reason: str = "",
    is_meant: bool = False,
) -> tuple[Ban, bool]:
    """Ban what this text describes; the ban, and False if it existed unchanged.

    Raises TooManyBans, LastAdministrator, Refused for unbannable values, and for the email of an
    account unless this `is_meant`; and Forbidden for a moderator who would ban another.
    """
    value = value_of(text)
    kind = kind_of(value)
    if kind in ("address", "network") and comments.accounts.bans.trusted.overlaps(value):
        raise Refused("This is a trusted proxy's address. Ban the visitors' addresses instead.")
    if kind == "host" and value in comments.counting.own_hosts:
        raise Refused("This is the site's own host")
    if kind == "words":
        comments.accounts.bans.require_room_for_words(value)
    if kind == "mail":
        await _require_no_account(comments, value, is_meant=is_meant)
    if kind == "account" and not caller.viewer.is_administrator:
        stored = await comments.accounts.store.by_id(value)
        if stored and stored.account.role in MODERATORS:
            raise Forbidden()
    was = await _lock_out(comments, value, NOTHING_ELSE) if kind == "account" else None
    if kind == "account" and was is None:
        raise Refused(NOT_BANNABLE)
    made = Ban(value, until_ms, reason, comments.process.clock(), by(caller))

    def after(listed: Ban | None) -> Ban:
        is_same = listed and (listed.until_ms, listed.reason) == (until_ms, reason)
        return listed if listed and is_same else made

    is_new = await comments.accounts.bans.change(value, after, made.by, "ban")
    return made, is_new or (was is not None and was.role != "banned")


async def _require_no_account(comments: Comments, mail: str, *, is_meant: bool) -> None:
    """Raises Refused."""
    stored = await comments.accounts.store.by_mail(mail)
    if stored and stored.account.role in MODERATORS:
        raise Refused("This is a moderator's email")
    if stored and stored.credentials.confirmed == mail and not is_meant:
        raise Refused(LOCKS_OUT)


async def _lock_out(comments: Comments, id: str, changes: Changes) -> Account | None:
    """Make these changes with the role `banned`; the account's former role. Raises TooManyBans."""
    await comments.accounts.bans.store.require_room(id)
    return await accounts.edit(comments, id, replace(changes, role="banned"))


async def lift(comments: Comments, text: str, caller: Caller) -> bool:
    """Lift a ban; False if there was none."""
    value = value_of(text)
    return await _lift(comments, value, await comments.accounts.bans.store.get(value), by(caller))


async def _lift(comments: Comments, value: str, listed: Ban | None, by: str) -> bool:
    is_account = kind_of(value) == "account"
    was = await _turn(comments, value, "guest", of=("banned",)) if is_account else None
    is_off = await _take_off(comments.accounts.bans, value, listed, by)
    if was is None or was.role != "banned":
        return is_off
    if not is_off:
        await _log_role(comments.log, was, "guest", by)
    return True


async def _turn(comments: Comments, id: str, role: Role, *, of: Container[Role]) -> Account | None:
    """Give an account this role if it has one of those; its former role, None if it does not
    exist."""

    def change(account: Account, credentials: Credentials) -> accounts.After:
        return replace(account, role=role) if account.role in of else account, credentials

    return await accounts.changed(comments, id, change)


async def _take_off(bans: KnownBans, value: str, listed: Ban | None, by: str) -> bool:
    """Take a ban off the list; not one that was made since this one was read."""
    return await bans.change(value, lambda ban: None if ban == listed else ban, by, "unban")


async def give_role(
    comments: Comments, id: str, role: Role, caller: Caller, changes: Changes = NOTHING_ELSE
) -> bool:
    """Give an account another role, and make these changes; False if it does not exist.

    Raises Unavailable; and if nothing has changed, UserExists, LastWayIn, LastAdministrator,
    Unauthorized, Forbidden, TooManyBans, Busy.
    """
    require_administrator(caller.viewer)
    if role == "banned":
        return await ban_account(comments, id, caller, changes) is not None
    # Before the account: one that is banned again meanwhile stays on the list.
    listed = await comments.accounts.bans.store.get(id)
    was = await accounts.edit(comments, id, replace(changes, role=role))
    if was is None:
        return False
    await _log_role(comments.log, was, role, by(caller))
    await _take_off(comments.accounts.bans, id, listed, by(caller))
    return True


async def change_role(
    comments: Comments, id: str, role: Role, caller: Caller, *, of: Container[Role]
) -> Account | None:
    """Give an account this role if it has one of those; its former role, None if it does not exist.

    Raises Unauthorized, Forbidden, Unavailable, LastAdministrator.
    """
    require_administrator(caller.viewer)
    was = await _turn(comments, id, role, of=of)
    if was and was.role in of:
        await _log_role(comments.log, was, role, by(caller))
    return was


async def _log_role(log: ModerationLog, was: Account, role: Role, by: str) -> None:
    if was.role != role:
        await log.add(by=by, did="role", id=was.id, was=was.role, now=role)


async def ban_account(
    comments: Comments, id: str, caller: Caller, changes: Changes = NOTHING_ELSE
) -> bool | None:
    """Ban an account, which keeps the reason and end of an existing ban; False if it was banned
    before, None if it does not exist.

    Raises Unauthorized, Forbidden, TooManyBans, LastAdministrator, and the errors of `give_role`.
    """
    require_administrator(caller.viewer)
    made = Ban(id, at_ms=comments.process.clock(), by=by(caller))
    was = await _lock_out(comments, id, changes)
    if was is None:
        return None

    def after(listed: Ban | None) -> Ban:
        # An existing ban keeps its reason and end.
        if was.role == "banned" and listed and listed.holds(made.at_ms):
            return listed
        return made

    is_new = await comments.accounts.bans.change(id, after, made.by, "ban")
    return is_new or was.role != "banned"


async def remove(comments: Comments, id: str, caller: Caller) -> bool:
    """Remove an account for good, and its ban; its comments stay. False if it does not exist.

    Raises LastAdministrator.
    """
    has_gone = await accounts.remove(comments, id)
    await comments.accounts.bans.change(id, lambda ban: None, by(caller), "unban")
    return has_gone


async def tidy(comments: Comments) -> None:
    """Take bans that have ended off the list. Raises StoreUnavailable."""
    await comments.accounts.bans.refresh()
    for value in comments.accounts.bans.ended()[:MAX_ENDED]:
        listed = await comments.accounts.bans.store.get(value)
        if listed and not listed.holds(comments.process.clock()):
            await _lift(comments, value, listed, "footfall")


def by(caller: Caller) -> str:
    """Who it was, for the log."""
    return caller.viewer.account.id if caller.viewer.account else ""

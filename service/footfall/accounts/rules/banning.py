"""Banning and lifting bans, by administrators, and ended bans.

A ban of an account is its role `banned`, and an entry in the list with reason and end. The account
is changed first, since that may be rejected; the list follows. A listed account can neither write
nor log in, whatever its role: wherever this is interrupted, a banned person stays banned, and a
retry does the rest.
"""

from collections.abc import Container
from dataclasses import replace

from ...errors import Forbidden, Refused
from ...model import MODERATORS, Account, Ban, Caller, Credentials, Role
from ...permissions import account_id, require_administrator
from ..noun import Accounts
from ..store.log import ModerationLog
from .ban_list import NOT_BANNABLE, kind_of, value_of
from .bans import KnownBans
from .changes import After, Changes, change_account, edit_account, remove_account

# Characters of a reason.
MAX_REASON = 200
# Bans that have ended and are taken off the list together.
MAX_ENDED = 100
NOTHING_ELSE = Changes()
LOCKS_OUT = "This would lock out the account whose owner has confirmed this email"


async def ban(
    accounts: Accounts,
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
    if kind in ("address", "network") and accounts.bans.trusted.overlaps(value):
        raise Refused("This is a trusted proxy's address. Ban the visitors' addresses instead.")
    if kind == "host" and value in accounts.own_hosts:
        raise Refused("This is the site's own host")
    if kind == "words":
        accounts.bans.require_room_for_words(value)
    if kind == "mail":
        await _require_no_account(accounts, value, is_meant=is_meant)
    if kind == "account" and not caller.viewer.is_administrator:
        stored = await accounts.store.by_id(value)
        if stored and stored.account.role in MODERATORS:
            raise Forbidden()
    was = await _lock_out(accounts, value, NOTHING_ELSE) if kind == "account" else None
    if kind == "account" and was is None:
        raise Refused(NOT_BANNABLE)
    made = Ban(value, until_ms, reason, accounts.process.clock(), account_id(caller))

    def after(listed: Ban | None) -> Ban:
        is_same = listed and (listed.until_ms, listed.reason) == (until_ms, reason)
        return listed if listed and is_same else made

    is_new = await accounts.bans.change(value, after, made.by, "ban")
    return made, is_new or (was is not None and was.role != "banned")


async def _require_no_account(accounts: Accounts, mail: str, *, is_meant: bool) -> None:
    """Raises Refused."""
    stored = await accounts.store.by_mail(mail)
    if stored and stored.account.role in MODERATORS:
        raise Refused("This is a moderator's email")
    if stored and stored.credentials.confirmed == mail and not is_meant:
        raise Refused(LOCKS_OUT)


async def _lock_out(accounts: Accounts, id: str, changes: Changes) -> Account | None:
    """Make these changes with the role `banned`; the account's former role. Raises TooManyBans."""
    await accounts.bans.store.require_room(id)
    return await edit_account(accounts, id, replace(changes, role="banned"))


async def lift(accounts: Accounts, text: str, caller: Caller) -> bool:
    """Lift a ban; False if there was none."""
    value = value_of(text)
    return await _lift(accounts, value, await accounts.bans.store.get(value), account_id(caller))


async def _lift(accounts: Accounts, value: str, listed: Ban | None, by: str) -> bool:
    is_account = kind_of(value) == "account"
    was = await _turn(accounts, value, "guest", of=("banned",)) if is_account else None
    is_off = await _take_off(accounts.bans, value, listed, by)
    if was is None or was.role != "banned":
        return is_off
    if not is_off:
        await _log_role(accounts.log, was, "guest", by)
    return True


async def _turn(accounts: Accounts, id: str, role: Role, *, of: Container[Role]) -> Account | None:
    """Give an account this role if it has one of those; its former role, None if it does not
    exist."""

    def change(account: Account, credentials: Credentials) -> After:
        return replace(account, role=role) if account.role in of else account, credentials

    return await change_account(accounts, id, change)


async def _take_off(bans: KnownBans, value: str, listed: Ban | None, by: str) -> bool:
    """Take a ban off the list; not one that was made since this one was read."""
    return await bans.change(value, lambda ban: None if ban == listed else ban, by, "unban")


async def give_role(
    accounts: Accounts, id: str, role: Role, caller: Caller, changes: Changes = NOTHING_ELSE
) -> bool:
    """Give an account another role, and make these changes; False if it does not exist.

    Raises Unavailable; and if nothing has changed, UserExists, LastWayIn, LastAdministrator,
    Unauthorized, Forbidden, TooManyBans, Busy.
    """
    require_administrator(caller.viewer)
    if role == "banned":
        return await ban_account(accounts, id, caller, changes) is not None
    # Before the account: one that is banned again meanwhile stays on the list.
    listed = await accounts.bans.store.get(id)
    was = await edit_account(accounts, id, replace(changes, role=role))
    if was is None:
        return False
    await _log_role(accounts.log, was, role, account_id(caller))
    await _take_off(accounts.bans, id, listed, account_id(caller))
    return True


async def change_role(
    accounts: Accounts, id: str, role: Role, caller: Caller, *, of: Container[Role]
) -> Account | None:
    """Give an account this role if it has one of those; its former role, None if it does not exist.

    Raises Unauthorized, Forbidden, Unavailable, LastAdministrator.
    """
    require_administrator(caller.viewer)
    was = await _turn(accounts, id, role, of=of)
    if was and was.role in of:
        await _log_role(accounts.log, was, role, account_id(caller))
    return was


async def _log_role(log: ModerationLog, was: Account, role: Role, by: str) -> None:
    if was.role != role:
        await log.add(by=by, did="role", id=was.id, was=was.role, now=role)


async def ban_account(
    accounts: Accounts, id: str, caller: Caller, changes: Changes = NOTHING_ELSE
) -> bool | None:
    """Ban an account, which keeps the reason and end of an existing ban; False if it was banned
    before, None if it does not exist.

    Raises Unauthorized, Forbidden, TooManyBans, LastAdministrator, and the errors of `give_role`.
    """
    require_administrator(caller.viewer)
    made = Ban(id, at_ms=accounts.process.clock(), by=account_id(caller))
    was = await _lock_out(accounts, id, changes)
    if was is None:
        return None

    def after(listed: Ban | None) -> Ban:
        # An existing ban keeps its reason and end.
        if was.role == "banned" and listed and listed.holds(made.at_ms):
            return listed
        return made

    is_new = await accounts.bans.change(id, after, made.by, "ban")
    return is_new or was.role != "banned"


async def remove(accounts: Accounts, id: str, caller: Caller) -> bool:
    """Remove an account for good, and its ban; its comments stay. False if it does not exist.

    Raises LastAdministrator.
    """
    has_gone = await remove_account(accounts, id)
    await accounts.bans.change(id, lambda ban: None, account_id(caller), "unban")
    return has_gone


async def tidy(accounts: Accounts) -> None:
    """Take bans that have ended off the list. Raises StoreUnavailable."""
    await accounts.bans.refresh()
    for value in accounts.bans.ended()[:MAX_ENDED]:
        listed = await accounts.bans.store.get(value)
        if listed and not listed.holds(accounts.process.clock()):
            await _lift(accounts, value, listed, "footfall")

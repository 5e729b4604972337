"""Banning and lifting bans, by administrators, and what becomes of bans that have ended.

A ban of an account is its role `banned`, and an entry in the list that says why and until when. The
account comes first, since its change may be refused, and the list follows. Whoever is listed can
neither write nor log in, whatever their role: wherever this ends, somebody who was banned still is,
and a repetition does the rest.
"""

from collections.abc import Callable
from dataclasses import replace

from ..errors import Refused, Unavailable
from ..model import Account, Ban, Caller, Credentials, Role
from ..store.bans import Changed
from . import accounts
from .accounts import Changes
from .bans import NOTHING, kind_of, until_of, value_of
from .rules import require_administrator
from .service import Service

# How often to read again what somebody else has changed meanwhile.
MAX_READINGS = 5
# Characters of a reason.
MAX_REASON = 200
# Bans that have ended and are taken off the list together.
MAX_ENDED = 100


async def note(service: Service, ban: Ban) -> None:
    """Write a ban down, in the place of an older one of the same. Raises TooManyBans."""
    await _change(service, ban.value, lambda before: ban, ban.by, "ban")


async def forget(service: Service, value: str, by: str) -> bool:
    """Take a ban off the list; False if it was not there."""
    return await _change(service, value, lambda before: None, by, "unban")


async def _change(
    service: Service, value: str, after: Callable[[Ban | None], Ban | None], by: str, did: str
) -> bool:
    """Make of a ban what it is to be; False if it is that already.

    Raises TooManyBans, Unavailable.
    """
    for _ in range(MAX_READINGS):
        before = await service.bans.store.get(value)
        now = after(before)
        if before == now:
            return False
        entry = ("by", by, "did", did, "id", value, "was", said(before), "now", said(now))
        try:
            await service.bans.store.change(value, before, now, service.clock(), entry)
        except Changed:
            continue
        await service.bans.refresh()
        return True
    raise Unavailable()


def said(ban: Ban | None) -> str:
    """A ban in the log."""
    if ban is None:
        return "not banned"
    until = until_of(ban)
    return f"banned until {until}" if until else "banned"


async def ban(
    service: Service, text: str, caller: Caller, *, until_ms: int = 0, reason: str = ""
) -> Ban:
    """Ban what this text names. Raises Unauthorized, Forbidden, TooManyBans, LastAdministrator, and
    Refused for what may not be banned."""
    require_administrator(caller.viewer)
    value = value_of(text)
    kind = kind_of(value)
    if kind in ("address", "network") and service.bans.trusted.overlaps(value):
        raise Refused("This is a trusted proxy's address: ban those whom it forwards")
    if kind == "mail":
        stored = await service.accounts.by_mail(value)
        if stored and stored.account.role == "administrator":
            raise Refused("This is an administrator's mail")
    elif kind == "account" and not await accounts.edit(service, value, Changes(role="banned")):
        raise Refused(NOTHING)
    made = Ban(value, until_ms, reason, service.clock(), by(caller))
    await note(service, made)
    return made


async def lift(service: Service, text: str, caller: Caller) -> bool:
    """Let somebody write again; False if they were not banned. Raises Unauthorized, Forbidden."""
    require_administrator(caller.viewer)
    value = value_of(text)
    return await _lift(service, value, await service.bans.store.get(value), by(caller))


async def _lift(service: Service, value: str, listed: Ban | None, by: str) -> bool:
    was_banned = kind_of(value) == "account" and await _readmit(service, value)
    return await _take_off(service, value, listed, by) or was_banned


async def _readmit(service: Service, id: str) -> bool:
    """Let an account log in again; False if it was not banned."""

    def change(account: Account, known: Credentials) -> accounts.After:
        is_banned = account.role == "banned"
        return replace(account, role="guest") if is_banned else account, known

    was = await accounts.changed(service, id, change)
    return was is not None and was.role == "banned"


async def _take_off(service: Service, value: str, listed: Ban | None, by: str) -> bool:
    """Take a ban off the list; not one that was made since this one was read."""
    return await _change(service, value, lambda ban: None if ban == listed else ban, by, "unban")


async def give_role(service: Service, id: str, role: Role, caller: Caller) -> Account | None:
    """Make an account something else; None if there is none.

    Raises LastAdministrator, Unauthorized, Forbidden, TooManyBans.
    """
    require_administrator(caller.viewer)
    stored = await service.accounts.by_id(id)
    if stored is None:
        return None
    if stored.account.role == role:
        return stored.account
    if role == "banned":
        await ban(service, id, caller)
        return stored.account
    await forget(service, id, by(caller))
    account = await accounts.edit(service, id, Changes(role=role))
    was, now = stored.account.role, role
    await service.log.add(by=by(caller), did="role", id=id, was=was, now=now)
    return account


async def remove(service: Service, id: str, caller: Caller) -> bool:
    """Remove an account for good, and its ban; its comments stay. False if there is none.

    Raises LastAdministrator.
    """
    has_gone = await accounts.remove(service, id)
    await forget(service, id, by(caller))
    return has_gone


async def tidy(service: Service) -> None:
    """Take bans that have ended off the list. Raises StoreUnavailable."""
    await service.bans.refresh()
    for value in service.bans.ended()[:MAX_ENDED]:
        listed = await service.bans.store.get(value)
        if listed and not listed.holds(service.clock()):
            await _lift(service, value, listed, "footfall")


def by(caller: Caller) -> str:
    """Who it was, for the log."""
    return caller.viewer.account.id if caller.viewer.account else ""

"""Bans, for administrators: who may not comment, like, register or log in."""

from dataclasses import dataclass
from datetime import UTC, datetime

from ..domain import banning
from ..domain.banning import MAX_REASON
from ..domain.bans import kind_of
from ..domain.rules import require_administrator
from ..domain.site import Site
from ..errors import BadRequest
from ..http.params import MAX_MAIL, MAX_PAGE, MAX_PAGE_SIZE, Form, RawRequest
from ..model import Ban, Caller, iso

MAX_UNTIL = 32


@dataclass(frozen=True, slots=True)
class NewBan:
    """`until_ms` 0: for ever."""

    value: str
    until_ms: int
    reason: str

    @classmethod
    def parse(cls, request: RawRequest, site: Site) -> "NewBan":
        form = Form(request.fields)
        value = form.text("value", MAX_MAIL, required="value can not be blank")
        until = form.text("until", MAX_UNTIL) or ""
        reason = form.text("reason", MAX_REASON) or ""
        until_ms = _time(until) if until else 0
        if until_ms is None or (until and until_ms <= site.process.clock()):
            form.wrong("until", "until need a time to come, as 2030-01-31T12:00:00Z")
        form.done()
        return cls(value or "", until_ms or 0, reason)


def _time(text: str) -> int | None:
    """In ms since the epoch, in UTC unless it says otherwise; None if it is no time."""
    try:
        at = datetime.fromisoformat(text)
        return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


async def add(site: Site, parsed: NewBan, caller: Caller) -> object:
    """Raises Unauthorized, Forbidden, Refused, TooManyBans and LastAdministrator."""
    ban, _ = await banning.ban(
        site, parsed.value, caller, until_ms=parsed.until_ms, reason=parsed.reason
    )
    return described(ban)


def described(ban: Ban) -> dict[str, object]:
    return {
        "value": ban.value,
        "kind": kind_of(ban.value),
        "until": iso(ban.until_ms) if ban.until_ms else None,
        "reason": ban.reason,
        "createdAt": iso(ban.at_ms),
        "by": ban.by,
    }


@dataclass(frozen=True, slots=True)
class List:
    page: int
    size: int

    @classmethod
    def parse(cls, request: RawRequest, site: Site) -> "List":
        form = Form(request.query)
        parsed = cls(form.integer("page", 1, MAX_PAGE), form.integer("pageSize", 10, MAX_PAGE_SIZE))
        form.done()
        return parsed


async def list_(site: Site, parsed: List, caller: Caller) -> object:
    """Raises Unauthorized and Forbidden."""
    require_administrator(caller.viewer)
    await site.bans.refresh()
    every, first = site.bans.newest(), (parsed.page - 1) * parsed.size
    return {
        "page": parsed.page,
        "totalPages": -(-len(every) // parsed.size),
        "pageSize": parsed.size,
        "data": [described(ban) for ban in every[first : first + parsed.size]],
    }


def parse_value(request: RawRequest, site: Site) -> str:
    """A value may have a slash, so it is in the body or the query; others may be in the path."""
    value = request.fields.get("value") or request.query.get("value") or request.id
    if not isinstance(value, str) or not value or len(value) > MAX_MAIL:
        raise BadRequest({"value": "value can not be blank"})
    return value


async def lift(site: Site, value: str, caller: Caller) -> object:
    """Whether there was such a ban. Raises Unauthorized and Forbidden."""
    return {"lifted": await banning.lift(site, value, caller)}

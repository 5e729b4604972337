"""Bans, for administrators: of people, and of what may not be written."""

from dataclasses import dataclass
from datetime import UTC, datetime

from ...errors import BadRequest
from ...http.params import MAX_MAIL, MAX_PAGE, MAX_PAGE_SIZE, RawRequest
from ...model import Ban, Caller, Catch, iso
from ...table.answers import JsonObject
from ...table.context import ParseContext
from ...table.fields import Fields, FieldValues, Flag, Given, Integer, Text, copied
from ...table.rows import Declared
from ...table.schemas import FLAG, AnswerSchema, object_of, page_of, ref
from ...table.who import MODERATOR
from ..noun import Accounts
from ..rules import banning
from ..rules.ban_list import kind_of
from ..rules.banning import MAX_REASON

operation = Declared[Accounts]("accounts")

MAX_UNTIL = 32


@dataclass(frozen=True, slots=True)
class NewBan:
    """`until_ms` 0: for ever."""

    value: str
    until_ms: int
    reason: str
    is_meant: bool

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "NewBan":
        until_ms = _time(values["until"]) or 0
        return cls(values["value"], until_ms, values["reason"], bool(values["meant"]))


def _time(text: str) -> int | None:
    """In ms since the epoch, UTC by default; None if it is not a time."""
    try:
        at = datetime.fromisoformat(text)
        return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def _check_until(until: str, context: ParseContext) -> str:
    if (_time(until) or 0) > context.clock():
        return ""
    return "until need a time to come, as 2030-01-31T12:00:00Z"


NEW_BAN = Fields(
    NewBan.of,
    (
        Text("value", "Who or what is banned", MAX_MAIL, required="value can not be blank"),
        Text("until", "Its end; without, it has none", MAX_UNTIL, check=_check_until),
        Text("reason", "Why, for administrators", MAX_REASON),
        Flag("meant", "Also if this locks out an account with a confirmed email"),
    ),
)


BAN_ANSWER = AnswerSchema(ref("Ban"))


@operation("ban_add", "POST", "/ban", NEW_BAN, MODERATOR, BAN_ANSWER)
async def add(accounts: Accounts, parsed: NewBan, caller: Caller) -> JsonObject:
    """Raises Refused, TooManyBans and LastAdministrator."""
    ban, _ = await banning.ban(
        accounts,
        parsed.value,
        caller,
        until_ms=parsed.until_ms,
        reason=parsed.reason,
        is_meant=parsed.is_meant,
    )
    (catch,) = await accounts.bans.store.caught([ban.value])
    return described(ban, catch)


def described(ban: Ban, catch: Catch) -> dict[str, object]:
    return {
        "value": ban.value,
        "kind": kind_of(ban.value),
        "until": iso(ban.until_ms) if ban.until_ms else None,
        "reason": ban.reason,
        "createdAt": iso(ban.at_ms),
        "by": ban.by,
        "caught": catch.number,
        "caughtAt": iso(catch.at_ms) if catch.at_ms else None,
    }


@dataclass(frozen=True, slots=True)
class BanListing:
    page: int
    size: int


LIST = copied(
    BanListing,
    (
        Integer("page", "Which part", 1, MAX_PAGE),
        Integer("pageSize", "Bans in a part", 10, MAX_PAGE_SIZE),
    ),
    source="query",
)


BANS_ANSWER = AnswerSchema(page_of(ref("Ban")))


@operation("ban_list", "GET", "/ban", LIST, MODERATOR, BANS_ANSWER)
async def list_(accounts: Accounts, parsed: BanListing, caller: Caller) -> JsonObject:
    await accounts.bans.refresh()
    every, first = accounts.bans.newest(), (parsed.page - 1) * parsed.size
    shown = every[first : first + parsed.size]
    catches = await accounts.bans.store.caught([ban.value for ban in shown])
    return {
        "page": parsed.page,
        "totalPages": -(-len(every) // parsed.size),
        "pageSize": parsed.size,
        "data": list(map(described, shown, catches)),
    }


def _value(values: FieldValues, request: RawRequest, context: ParseContext) -> str:
    """A value may have a slash, so it is in the body or the query; others may be in the path."""
    value = request.fields.get("value") or request.query.get("value") or request.id
    if not isinstance(value, str) or not value or len(value) > MAX_MAIL:
        raise BadRequest({"value": "value can not be blank"})
    return value


VALUE = Fields(
    _value,
    (Given("value", "The value of the ban", {"type": "string", "maxLength": MAX_MAIL}),),
    source="either",
    id="The same, if it has no slash",
)


LIFTED_ANSWER = AnswerSchema(object_of(lifted=FLAG))


@operation("ban_lift", "DELETE", "/ban", VALUE, MODERATOR, LIFTED_ANSWER)
async def lift(accounts: Accounts, value: str, caller: Caller) -> JsonObject:
    """Whether there was such a ban."""
    return {"lifted": await banning.lift(accounts, value, caller)}

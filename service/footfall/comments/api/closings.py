"""Pages that take no new comments, for moderators."""

from dataclasses import dataclass

from ...errors import BadRequest
from ...http.params import MAX_PATH, RawRequest
from ...model import Caller
from ...table.answers import JsonObject
from ...table.context import ParseContext
from ...table.fields import NO_FIELDS, Fields, FieldValues, Given, Text
from ...table.prefixes import UI
from ...table.rows import Declared
from ...table.schemas import TEXT, AnswerSchema, list_of, object_of
from ...table.who import MODERATOR
from ..noun import Comments
from ..rules import closing
from ..rules.closing import MAX_DAYS, OPEN

operation = Declared[Comments]("comments", UI)


@dataclass(frozen=True, slots=True)
class Closing:
    """`path` is "" for all pages without a rule of their own; `days` None takes a rule away."""

    path: str
    days: int | None

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Closing":
        path, days = values["path"], values["days"]
        if days is not None and not (type(days) is int and OPEN <= days <= MAX_DAYS):
            raise BadRequest({"days": f"days need a number from {OPEN} to {MAX_DAYS}, or null"})
        return cls(context.page_of(path) if path else "", days)


_DAYS = {"type": ["integer", "null"], "minimum": OPEN, "maximum": MAX_DAYS}
CLOSING = Fields(
    Closing.of,
    (
        Text("path", "The page; empty: all pages without a rule of their own", MAX_PATH),
        Given(
            "days",
            "0: closed; else days after the page's first comment; -1: open; null: as all pages",
            _DAYS,
        ),
    ),
)


_CLOSING = object_of(path=TEXT, days=_DAYS)
CLOSINGS_ANSWER = AnswerSchema(object_of(data=list_of(_CLOSING)))


@operation("closing_list", "GET", "/pages/closed", NO_FIELDS, MODERATOR, CLOSINGS_ANSWER)
async def list_(comments: Comments, parsed: None, caller: Caller) -> JsonObject:
    rules = await comments.store.closings.every()
    return {"data": [{"path": path, "days": days} for path, days in sorted(rules.items())]}


CLOSING_ANSWER = AnswerSchema(_CLOSING)


@operation("closing_change", "PUT", "/pages/closed", CLOSING, MODERATOR, CLOSING_ANSWER)
async def change(comments: Comments, parsed: Closing, caller: Caller) -> JsonObject:
    """Raises TooManyClosings."""
    await closing.close(comments, parsed.path, parsed.days, caller)
    return {"path": parsed.path, "days": parsed.days}

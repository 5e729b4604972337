"""Moving a page to another path from the owner's pages."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from ...counters import is_page
from ...errors import BadRequest
from ...http.params import MAX_PATH, RawRequest
from ...model import Caller
from ...table.answers import JsonObject
from ...table.context import ParseContext
from ...table.fields import Fields, FieldValues, Flag, Text
from ...table.prefixes import UI
from ...table.rows import Declared
from ...table.schemas import FLAG, NUMBER, TEXT, AnswerSchema, object_of
from ...table.who import ADMINISTRATOR
from ..noun import Comments
from ..rules import page_moves as domain

operation = Declared[Comments]("comments", UI)

# A request waits this long for the end of its move: most end by then.
WAIT_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Move:
    """`is_meant`: do it, instead of only showing what would move."""

    source: str
    target: str
    is_meant: bool

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Move":
        return cls(values["path"], context.page_of(values["to"]), bool(values["meant"]))


MOVE = Fields(
    Move.of,
    (
        Text("path", "The page", MAX_PATH, required="path can not be blank"),
        Text("to", "Its new path", MAX_PATH, required="to can not be blank"),
        Flag("meant", "Move it; else only show what would be moved"),
    ),
)


_HOLDING = object_of(views=NUMBER, others=NUMBER, comments=NUMBER)
PAGE_MOVE_ANSWER = AnswerSchema(object_of(to=TEXT, had=_HOLDING, met=_HOLDING, isOver=FLAG))


@operation("page_move", "POST", "/pages/move", MOVE, ADMINISTRATOR, PAGE_MOVE_ANSWER)
async def move(comments: Comments, parsed: Move, caller: Caller) -> JsonObject:
    """Raises BadRequest, Refused."""
    source, target = parsed.source, parsed.target
    if source == target:
        raise BadRequest({"to": "to should be another page than path"})
    if is_page(source) != is_page(target):
        # Nobody would ask for its counters there.
        raise BadRequest({"to": "to should be a page if path is one, and none if it is none"})
    had, met = [await domain.holding(comments, path) for path in (source, target)]
    is_over = False
    if parsed.is_meant:
        assert caller.viewer.account
        ended = await domain.start(comments, source, target, caller.viewer.account.id)
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), WAIT_SECONDS)
        is_over = all((source, target) != note[:2] for note in await comments.moves.under_way())
    return {"to": target, "had": had._asdict(), "met": met._asdict(), "isOver": is_over}

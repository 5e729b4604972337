"""Answers from the owner's queue, and how they will look."""

from dataclasses import dataclass

from orjson import Fragment

from ..comments.api.comments import NEEDED_TEXT
from ..comments.api.moderation import ACTION, ONE_SEEN, action_of, outcome
from ..comments.noun import Comments
from ..comments.rules import replies as domain
from ..http.params import MAX_ID, MAX_UA, RawRequest
from ..model import Caller
from ..render.view import View
from ..table.answers import JsonObject
from ..table.context import ParseContext
from ..table.fields import Fields, FieldValues, Text, copied
from ..table.prefixes import UI
from ..table.rows import Declared
from ..table.schemas import A_COMMENT, CHANGE, TEXT, AnswerSchema, map_of, object_of
from ..table.variants import Variant
from ..table.who import MODERATOR

operation = Declared[Comments]("comments", UI)


@dataclass(frozen=True, slots=True)
class Reply:
    id: str
    text: str
    ua: str | None
    seen: str
    action: str
    variant: Variant

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Reply":
        return cls(
            values["pid"],
            values["comment"],
            values["ua"],
            values["seen"],
            action_of(request),
            request.variant,
        )


REPLY = Fields(
    Reply.of,
    (
        Text("pid", "The comment that is answered", MAX_ID, required="pid can not be blank"),
        NEEDED_TEXT,
        Text("ua", "What the author's browser calls itself", MAX_UA, None),
        ONE_SEEN,
        ACTION,
    ),
)


REPLIED_ANSWER = AnswerSchema(
    object_of(
        reply=A_COMMENT, results=map_of(TEXT), undo=TEXT, _optional={"changed": map_of(CHANGE)}
    )
)


@operation("queue_reply", "POST", "/queue/reply", REPLY, MODERATOR, REPLIED_ANSWER)
async def reply(comments: Comments, parsed: Reply, caller: Caller) -> JsonObject:
    """Raises Changed, Refused, TooManyAtOnce, Busy."""
    stored, live, action = await domain.reply(
        comments, parsed.id, parsed.text, parsed.ua, caller, seen=parsed.seen, name=parsed.action
    )
    view = View(caller.viewer, comments.display, parsed.variant.date)
    reply = Fragment(*view.elsewhere([stored], live))
    return {"reply": reply, **await outcome(comments, action)}


PREVIEW = copied(str, (NEEDED_TEXT,))


PREVIEW_ANSWER = AnswerSchema(object_of(html=TEXT))


@operation("queue_preview", "POST", "/queue/preview", PREVIEW, MODERATOR, PREVIEW_ANSWER)
async def preview(comments: Comments, text: str, caller: Caller) -> JsonObject:
    """Raises TooManyAtOnce, Busy."""
    return {"html": await domain.preview(comments, text, caller)}

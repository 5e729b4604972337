"""The bin of the moderation queue: deleted comments, which can be restored, or removed now."""

from dataclasses import dataclass

from orjson import Fragment

from ..comments.api.moderation import IDS, change_of
from ..comments.noun import Comments
from ..comments.rules import bin as domain
from ..http.params import MAX_ID, MAX_PAGE_SIZE, RawRequest
from ..model import Caller
from ..render.view import View
from ..table.answers import JsonObject
from ..table.context import ParseContext
from ..table.fields import Fields, FieldValues, Integer, Text, copied
from ..table.prefixes import UI
from ..table.rows import Declared
from ..table.schemas import (
    A_COMMENT,
    CHANGE,
    NUMBER,
    RESULTS,
    TEXT,
    AnswerSchema,
    list_of,
    object_of,
    or_null,
)
from ..table.variants import Variant
from ..table.who import MODERATOR

operation = Declared[Comments]("comments", UI)


def _mark(after: str, context: ParseContext) -> str:
    return "" if not after or domain.is_mark(after) else "after need the mark of a part"


@dataclass(frozen=True, slots=True)
class Part:
    size: int
    after: str
    variant: Variant

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Part":
        return cls(values["pageSize"], values["after"], request.variant)


PART = Fields(
    Part.of,
    (
        Integer("pageSize", "How many", 20, MAX_PAGE_SIZE),
        Text("after", "The mark after which the list continues", MAX_ID, check=_mark),
    ),
    source="query",
)


BIN_ANSWER = AnswerSchema(
    object_of(
        data=list_of(
            object_of(comment=A_COMMENT, replies=NUMBER, deleted=or_null(CHANGE), removedAt=NUMBER)
        ),
        after=TEXT,
        total=NUMBER,
    )
)


@operation("bin_read", "GET", "/queue/bin", PART, MODERATOR, BIN_ANSWER)
async def list_(comments: Comments, parsed: Part, caller: Caller) -> JsonObject:
    part = await domain.part(comments, caller.viewer, size=parsed.size, after=parsed.after)
    view = View(caller.viewer, comments.display, parsed.variant.date)
    shown = view.elsewhere([row.stored for row in part.rows], part.live)
    rows = [
        {
            "comment": Fragment(json),
            "replies": row.replies,
            "deleted": change_of(decided) if decided else None,
            "removedAt": row.deleted_ms + comments.deletions.kept_ms,
        }
        for row, json in zip(part.rows, shown, strict=True)
        for decided in [part.decided.get(row.stored.id)]
    ]
    return {"data": rows, "after": part.after, "total": part.total}


NAMED = copied(tuple, (IDS,))


RESTORED = AnswerSchema(object_of(results=RESULTS))


@operation("bin_restore", "PUT", "/queue/bin", NAMED, MODERATOR, RESTORED)
async def restore(comments: Comments, ids: tuple[str, ...], caller: Caller) -> JsonObject:
    return {"results": await domain.restore(comments, ids, caller)}


@operation("bin_remove", "DELETE", "/queue/bin", NAMED, MODERATOR, RESTORED)
async def remove(comments: Comments, ids: tuple[str, ...], caller: Caller) -> JsonObject:
    return {"results": await domain.remove(comments, ids, caller)}

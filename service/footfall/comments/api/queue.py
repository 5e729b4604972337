"""The moderation queue, for administrators: comments of the whole site, by status and words.

Others get their own there, and pay for it: a search reads a thousand comments.
"""

from dataclasses import dataclass, replace
from typing import Any, cast

from orjson import Fragment

from ...http.params import MAX_ID, MAX_PAGE, MAX_PAGE_SIZE, RawRequest
from ...model import STATUSES, Caller, Status
from ...render.view import View
from ...table.answers import JsonObject
from ...table.context import ParseContext
from ...table.fields import Choice, Fields, FieldValues, Integer, Shapes, Text
from ...table.rows import Declared
from ...table.schemas import A_COMMENT, MORE, NUMBER, AnswerSchema, page_of
from ...table.variants import Variant, content
from ...table.who import MODERATOR, READER
from ..noun import Comments
from ..rules import queue as domain

operation = Declared[Comments]("comments")

# Maximum characters of a search.
MAX_WORDS = 256
# What a search costs in changes of counters: by default one a second, ten saved up.
SEARCH_TOKENS = 100


@dataclass(frozen=True, slots=True)
class Queue:
    """Page `page` of comments of any of these statuses.

    With `words` those that have them, with `is_mine` the caller's own; of a search, `after` is the
    comment after which it continues.
    """

    statuses: tuple[Status, ...]
    words: str
    is_mine: bool
    page: int
    size: int
    after: str
    variant: Variant

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Queue":
        status = cast(Status, values["status"])
        return cls(
            (status,) if status else STATUSES,
            values["keyword"],
            values["owner"] == "mine",
            values["page"],
            values["pageSize"],
            values["after"],
            request.variant,
        )


_QUEUE = Fields(
    Queue.of,
    (
        Choice("status", "Only comments of this status", "", STATUSES),
        Text("keyword", "Words that they have", MAX_WORDS),
        Choice("owner", "Whose comments", "", ("all", "mine")),
        Integer("page", "Which part", 1, MAX_PAGE),
        Integer("pageSize", "Comments in a part", 10, MAX_PAGE_SIZE),
        Text("after", "The comment after which a search continues", MAX_ID),
    ),
    source="query",
)
# Every account may search its own comments.
QUEUE = Shapes(
    (replace(_QUEUE, who=READER, when=lambda request: request.query.get("owner") == "mine"), _QUEUE)
)


_PART = page_of(A_COMMENT, spamCount=NUMBER, waitingCount=NUMBER, _optional={"more": MORE})
QUEUE_ANSWER = AnswerSchema(_PART, _PART)


@operation(
    "comment_queue",
    "GET",
    "/comment",
    QUEUE,
    MODERATOR,
    QUEUE_ANSWER,
    envelope=content,
    type="list",
)
async def queue(comments: Comments, parsed: Queue, caller: Caller) -> JsonObject:
    if not caller.viewer.is_moderator:
        await comments.counting.charge(caller.address, SEARCH_TOKENS)
    account = caller.viewer.account.id if parsed.is_mine and caller.viewer.account else ""
    number, size = parsed.page, parsed.size
    if parsed.words or account or parsed.after:
        part = await domain.search(
            comments,
            parsed.statuses,
            caller.viewer,
            number=number,
            size=size,
            words=parsed.words,
            account=account,
            after=parsed.after,
        )
    else:
        part = await domain.page(comments, parsed.statuses, caller.viewer, number=number, size=size)
    view = View(caller.viewer, comments.display, parsed.variant.date)
    answer: dict[str, Any] = {
        "page": number,
        "totalPages": -(-part.total // size),
        "pageSize": size,
        "spamCount": part.spam,
        "waitingCount": part.waiting,
        "data": [Fragment(json) for json in view.elsewhere(part.comments, part.live)],
    }
    if part.after:
        answer["more"] = {"after": part.after, "searched": part.searched}
    return answer

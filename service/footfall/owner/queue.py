"""The moderation queue of the admin UI: a list that continues after the last comment seen.

Waline's clients turn pages by their number (queue.py), which skips a comment for each one that was
decided on the page before.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Any, cast

from orjson import Fragment

from ..comments.api.queue import MAX_WORDS, SEARCH_TOKENS
from ..comments.noun import Comments
from ..comments.rules import queue as domain
from ..comments.rules.queue import QueuePart, Wanted
from ..http.params import MAX_ID, MAX_PAGE_SIZE, RawRequest
from ..model import STATUSES, Caller, Status
from ..render.view import View
from ..table.answers import JsonObject
from ..table.context import ParseContext
from ..table.fields import Choice, Fields, FieldValues, Integer, Shapes, Text
from ..table.prefixes import UI
from ..table.rows import Declared
from ..table.schemas import (
    A_COMMENT,
    NUMBER,
    TEXT,
    AnswerSchema,
    list_of,
    map_of,
    object_of,
    or_null,
)
from ..table.variants import Variant
from ..table.who import MODERATOR, READER

operation = Declared[Comments]("comments", UI)

# Comments that are named in one request.
MAX_NAMED = 100


@dataclass(frozen=True, slots=True)
class QueueListing:
    """The next `size` comments after the one with the id `after`; or those with these `ids`."""

    wanted: Wanted
    is_mine: bool
    size: int
    after: str
    ids: tuple[str, ...]
    variant: Variant

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "QueueListing":
        ids = tuple(values["ids"].split(",")) if values.get("ids") else ()
        return cls(
            Wanted(statuses_of(values.get("status", "")), values.get("keyword", "")),
            values.get("owner") == "mine",
            values.get("pageSize", MAX_NAMED),
            values.get("after", ""),
            ids,
            request.variant,
        )


def statuses_of(status: str) -> tuple[Status, ...]:
    return (cast(Status, status),) if status else STATUSES


def _check_ids(ids: str, context: ParseContext) -> str:
    is_short = ids.count(",") < MAX_NAMED
    return "" if is_short else f"ids should be at most {MAX_NAMED} ids of comments"


STATUS = Choice("status", "Only comments of this status", "", STATUSES)
KEYWORD = Text("keyword", "Words that they have", MAX_WORDS)
_LIST = Fields(
    QueueListing.of,
    (
        STATUS,
        KEYWORD,
        Choice("owner", "Whose comments", "", ("all", "mine")),
        Integer("pageSize", "How many", 20, MAX_PAGE_SIZE),
        Text("after", "The comment after which the list continues", MAX_ID),
    ),
    source="query",
    who=MODERATOR,
)
_NAMED = Fields(
    QueueListing.of,
    (
        Text(
            "ids",
            "These comments instead, between commas",
            MAX_NAMED * (MAX_ID + 1),
            check=_check_ids,
        ),
    ),
    source="query",
    who=MODERATOR,
    when=lambda request: bool(request.query.get("ids")),
)
LIST = Shapes(
    (
        _NAMED,
        replace(_LIST, who=READER, when=lambda request: request.query.get("owner") == "mine"),
        _LIST,
    )
)


# What a language model has said of a comment.
VERDICT = object_of(verdict=TEXT, reason=TEXT, model=TEXT, ms=NUMBER)
QUEUE_PART_ANSWER = AnswerSchema(
    object_of(
        data=list_of(A_COMMENT),
        verdicts=map_of(VERDICT),
        reports=map_of(NUMBER),
        after=TEXT,
        searched=NUMBER,
        total=or_null(NUMBER),
        waiting=NUMBER,
        spam=NUMBER,
    )
)


@operation("queue_read", "GET", "/queue", LIST, MODERATOR, QUEUE_PART_ANSWER)
async def list_(comments: Comments, parsed: QueueListing, caller: Caller) -> JsonObject:
    """Raises BadRequest."""
    viewer = caller.viewer
    if parsed.ids:
        named = await domain.by_ids(comments, parsed.ids, viewer)
        return await _answer(comments, named, parsed, caller)
    if not viewer.is_moderator:
        await comments.counting.charge(caller.address, SEARCH_TOKENS)
    account = viewer.account.id if parsed.is_mine and viewer.account else ""
    wanted = replace(parsed.wanted, account=account)
    part = await domain.part(comments, wanted, viewer, size=parsed.size, after=parsed.after)
    return await _answer(comments, part, parsed, caller)


async def _answer(
    comments: Comments, part: QueuePart, parsed: QueueListing, caller: Caller
) -> dict[str, Any]:
    view = View(caller.viewer, comments.display, parsed.variant.date)
    ids = [each.id for each in part.comments] if caller.viewer.is_moderator else []
    verdicts, reports = await asyncio.gather(comments.verdicts.of(ids), comments.reports.of(ids))
    return {
        "verdicts": {id: verdict._asdict() for id, verdict in verdicts.items()},
        "reports": reports,
        "data": [Fragment(json) for json in view.elsewhere(part.comments, part.live)],
        "after": part.after,
        "searched": part.searched,
        "total": part.total,
        "waiting": part.waiting,
        "spam": part.spam,
    }


@dataclass(frozen=True, slots=True)
class News:
    statuses: tuple[Status, ...]

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "News":
        return cls(statuses_of(values["status"]))


NEWS = Fields(News.of, (STATUS,), source="query")


QUEUE_NEWS_ANSWER = AnswerSchema(
    object_of(ids=list_of(TEXT), total=NUMBER, waiting=NUMBER, spam=NUMBER)
)


@operation("queue_news", "GET", "/queue/new", NEWS, MODERATOR, QUEUE_NEWS_ANSWER)
async def news(comments: Comments, parsed: News, caller: Caller) -> JsonObject:
    news = await domain.news(comments, parsed.statuses)
    return {"ids": news.ids, "total": news.total, "waiting": news.waiting, "spam": news.spam}

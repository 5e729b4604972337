"""Bulk actions of the moderation queue, which continue in the background."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from ..accounts.rules.ban_list import value_of
from ..comments.api.moderation import ACTION, MAX_SEEN, action_of, seen_of
from ..comments.noun import Comments
from ..comments.rules import actions, progress
from ..comments.rules.actions import Matching
from ..comments.rules.groups import MAX_GROUPED_COMMENTS
from ..comments.rules.orders import Order, Seen
from ..comments.rules.progress import Action
from ..comments.rules.queue import Wanted
from ..errors import BadRequest
from ..http.params import MAX_ID, MAX_MAIL, RawRequest
from ..model import STATUSES, Caller, Standing
from ..table.answers import JsonObject
from ..table.context import ParseContext
from ..table.fields import (
    NO_FIELDS,
    Choice,
    Fields,
    FieldValues,
    Given,
    Shapes,
    Text,
    Texts,
    copied,
)
from ..table.prefixes import UI
from ..table.rows import Declared
from ..table.schemas import FLAG, NUMBER, TEXT, AnswerSchema, Schema, list_of, object_of, or_null
from ..table.who import MODERATOR
from .queue import KEYWORD, STATUS, statuses_of

operation = Declared[Comments]("comments", UI)

# Comments that are named in one request: as many as groups are made of.
MAX_TARGETS = MAX_GROUPED_COMMENTS
DEEDS = (*STATUSES, "deleted")


@dataclass(frozen=True, slots=True)
class Bulk:
    """`action` is the name that the client gives it, "" for none."""

    order: Order
    targets: Seen | Matching
    action: str

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Bulk":
        status = values["status"]
        wanted = Wanted(
            statuses_of(status), values.get("keyword", ""), banned=value_of(values.get("ban", ""))
        )
        targets: Seen | Matching = Matching(wanted, values.get("newest", ""))
        if ids := values.get("ids"):
            # Without versions, they still have the status of the list in which they were seen.
            seen = values.get("seen")
            targets = seen_of(ids, seen) if seen else dict.fromkeys(ids, status or "")
        return cls(Order(cast(Standing, values["do"])), targets, action_of(request))


def _check_ids(ids: object) -> None:
    is_list = isinstance(ids, list) and all(isinstance(id, str) and len(id) <= MAX_ID for id in ids)
    if not (is_list and 0 < len(cast(list[str], ids)) <= MAX_TARGETS):
        raise BadRequest({"ids": f"ids need a list of 1 to {MAX_TARGETS} ids of comments"})


_DO = Choice("do", "The status that they get; or `deleted`, with their replies", "", DEEDS, True)
_NEWEST = Text(
    "newest",
    "The comment that was the newest in the list: later ones are left alone",
    MAX_ID,
    required="newest can not be blank",
)
NO_BAN = "ban can not be blank"
_BAN = Text(
    "ban",
    "Everything that a ban of this value would catch",
    MAX_MAIL,
    required=NO_BAN,
    check=lambda ban, context: "" if ban.strip() else NO_BAN,
)
_SEEN = Given(
    "seen",
    "The `version` of each of `ids` that was read; one that has changed is left",
    {"type": "array", "items": {"type": "string", "maxLength": MAX_SEEN}, "maxItems": MAX_TARGETS},
)
BULK = Shapes(
    (
        Fields(
            Bulk.of,
            (_DO, Texts("ids", "Comments", MAX_TARGETS, MAX_ID, _check_ids), _SEEN, STATUS, ACTION),
            who=MODERATOR,
            when=lambda request: request.fields.get("ids") is not None,
        ),
        # A blank ban is not a ban, and must not select the whole list.
        Fields(
            Bulk.of,
            (_DO, STATUS, _BAN, _NEWEST, ACTION),
            who=MODERATOR,
            when=lambda request: "ban" in request.fields,
        ),
        Fields(Bulk.of, (_DO, STATUS, KEYWORD, _NEWEST, ACTION), who=MODERATOR),
    )
)

_ACTION: Mapping[str, Schema] = {
    "name": TEXT,
    "total": or_null(NUMBER),
    "done": NUMBER,
    "left": NUMBER,
    "isRunning": FLAG,
    "isCut": FLAG,
    "canUndo": FLAG,
}
BULK_ACTION_ANSWER = AnswerSchema(object_of(**_ACTION))


@operation("queue_bulk", "POST", "/queue/bulk", BULK, MODERATOR, BULK_ACTION_ANSWER)
async def bulk(comments: Comments, parsed: Bulk, caller: Caller) -> JsonObject:
    """Raises BadRequest, TooManyAtOnce, Busy."""
    action = await actions.start(comments, parsed.order, parsed.targets, caller, name=parsed.action)
    return _answer(action)


_NAME = Text("name", "The name in the action's answer", MAX_ID, required="name can not be blank")
LOOK = copied(str, (_NAME,), source="query")
UNDO = copied(str, (_NAME,))


@operation("queue_bulk_read", "GET", "/queue/bulk", LOOK, MODERATOR, BULK_ACTION_ANSWER)
async def look(comments: Comments, name: str, caller: Caller) -> JsonObject:
    """Raises Refused."""
    return _answer(await progress.look(comments, name))


@operation("queue_bulk_undo", "PUT", "/queue/bulk", UNDO, MODERATOR, BULK_ACTION_ANSWER)
async def undo(comments: Comments, name: str, caller: Caller) -> JsonObject:
    """Raises Refused, TooManyAtOnce, Busy."""
    return _answer(await actions.start_undo(comments, name, caller))


RECENT_ACTIONS_ANSWER = AnswerSchema(
    list_of(object_of(**_ACTION, do=TEXT, by=TEXT, nick=TEXT, time=NUMBER, leftMs=NUMBER))
)


@operation("queue_actions", "GET", "/queue/actions", NO_FIELDS, MODERATOR, RECENT_ACTIONS_ANSWER)
async def recent(comments: Comments, parsed: None, caller: Caller) -> list[JsonObject]:
    """The actions of the last minute, newest first, also of other moderators."""
    listed, now_ms = await progress.recent(comments), comments.process.clock()
    by_id = await comments.accounts.store.by_ids({action.by for action in listed})
    return [
        _answer(action)
        | {
            "do": action.deed,
            "by": action.by,
            "nick": by_id[action.by].nick if action.by in by_id else "",
            "time": action.started_ms,
            "leftMs": action.left_ms(now_ms),
        }
        for action in listed
    ]


def _answer(action: Action) -> dict[str, object]:
    return {
        "name": action.name,
        "total": action.total,
        "done": action.done,
        "left": action.left,
        "isRunning": action.is_running,
        "isCut": action.is_cut,
        "canUndo": action.can_undo,
    }

"""Bulk actions of the moderation queue, which continue in the background."""

from dataclasses import dataclass
from typing import cast

from ..accounts.rules.ban_list import value_of
from ..comments.rules import bulk_actions
from ..comments.rules.bulk_actions import BulkAction, Deed, Matching, Targets
from ..comments.rules.groups import MAX_GROUPED_COMMENTS
from ..comments.rules.queue import Wanted
from ..errors import BadRequest
from ..http.params import MAX_ID, MAX_MAIL, RawRequest
from ..model import STATUSES, Caller, Status
from ..site import Comments
from ..table.answers import JsonObject
from ..table.context import ParseContext
from ..table.endpoint import Row
from ..table.fields import Choice, Fields, FieldValues, Shapes, Text, Texts
from ..table.prefixes import UI
from ..table.schemas import FLAG, NUMBER, TEXT, AnswerSchema, object_of, or_null
from ..table.who import MODERATOR
from .queue import KEYWORD, STATUS, statuses_of

# Comments that are named in one request: as many as groups are made of.
MAX_TARGETS = MAX_GROUPED_COMMENTS
DEEDS = (*STATUSES, "deleted")


@dataclass(frozen=True, slots=True)
class Bulk:
    """`only` is the status of the list in which they were seen, None for a list of all."""

    deed: Deed
    targets: Targets
    only: Status | None

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Bulk":
        status = values["status"]
        wanted = Wanted(
            statuses_of(status), values.get("keyword", ""), banned=value_of(values.get("ban", ""))
        )
        targets: Targets = values.get("ids") or Matching(wanted, values.get("newest", ""))
        return cls(cast(Deed, values["do"]), targets, cast(Status, status) if status else None)


def _judge_ids(ids: object) -> None:
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
BULK = Shapes(
    (
        Fields(
            Bulk.of,
            (_DO, Texts("ids", "Comments", MAX_TARGETS, MAX_ID, _judge_ids), STATUS),
            who=MODERATOR,
            when=lambda request: request.fields.get("ids") is not None,
        ),
        # A blank ban is not a ban, and must not select the whole list.
        Fields(
            Bulk.of,
            (_DO, STATUS, _BAN, _NEWEST),
            who=MODERATOR,
            when=lambda request: "ban" in request.fields,
        ),
        Fields(Bulk.of, (_DO, STATUS, KEYWORD, _NEWEST), who=MODERATOR),
    )
)


async def bulk(comments: Comments, parsed: Bulk, caller: Caller) -> JsonObject:
    """Raises BadRequest, TooManyAtOnce, Busy."""
    return _answer(
        *await bulk_actions.begin(comments, parsed.deed, parsed.targets, caller, only=parsed.only)
    )


def _name(values: FieldValues, request: RawRequest, context: ParseContext) -> str:
    name: str = values["name"]
    return name


_NAME = Text("name", "The name in the action's answer", MAX_ID, required="name can not be blank")
LOOK = Fields(_name, (_NAME,), source="query")
UNDO = Fields(_name, (_NAME,))


async def look(comments: Comments, name: str, caller: Caller) -> JsonObject:
    """Raises Refused."""
    return _answer(name, await bulk_actions.look(comments, name))


async def undo(comments: Comments, name: str, caller: Caller) -> JsonObject:
    """Raises Refused, TooManyAtOnce, Busy."""
    return _answer(*await bulk_actions.undo(comments, name, caller))


def _answer(name: str, action: BulkAction) -> dict[str, object]:
    return {
        "name": name,
        "total": action.total,
        "done": action.done,
        "left": action.left,
        "isRunning": action.is_running,
        "isCut": action.is_cut,
        "canUndo": bool(action.undo),
    }


BULK_ACTION_ANSWER = AnswerSchema(
    object_of(
        name=TEXT,
        total=or_null(NUMBER),
        done=NUMBER,
        left=NUMBER,
        isRunning=FLAG,
        isCut=FLAG,
        canUndo=FLAG,
    )
)
ROWS = (
    Row(
        "queue_bulk",
        "POST",
        "/queue/bulk",
        BULK,
        MODERATOR,
        BULK_ACTION_ANSWER,
        bulk,
        prefixes=(UI,),
    ),
    Row(
        "queue_bulk_read",
        "GET",
        "/queue/bulk",
        LOOK,
        MODERATOR,
        BULK_ACTION_ANSWER,
        look,
        prefixes=(UI,),
    ),
    Row(
        "queue_bulk_undo",
        "PUT",
        "/queue/bulk",
        UNDO,
        MODERATOR,
        BULK_ACTION_ANSWER,
        undo,
        prefixes=(UI,),
    ),
)

"""Changes of comments: likes by anyone, edits by authors, everything else by administrators."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from orjson import Fragment

from ...errors import BadRequest
from ...http.params import MAX_ID, MAX_LINK, MAX_MAIL, Form, RawRequest, Values
from ...model import STATUSES, Caller, Status
from ...render.view import View
from ...table.answers import JsonObject
from ...table.context import ParseContext
from ...table.fields import Choice, Deferred, Fields, FieldValues, Flag, Given, Shapes, Text, Texts
from ...table.names import Name
from ...table.rows import Declared
from ...table.schemas import A_COMMENT, EMPTY, AnswerSchema, ref
from ...table.who import ANYBODY, AUTHOR, EDITOR, MODERATOR
from ..noun import Comments
from ..rules import actions, decisions, moderation
from ..rules import comments as domain
from ..rules.actions import MAX_NAME
from ..rules.decisions import Decided
from ..rules.orders import Order, Seen
from ..rules.progress import Action
from .comments import COMMENT_TEXT

operation = Declared[Comments]("comments")

# Comments in one request.
MAX_IDS = 200
# Characters of a version.
MAX_SEEN = 64
# Fields of actions, beside those of comments.
_OF_ACTIONS = ("ids", "seen", "action")
NO_UNDO = "undo can not be blank"
_ID_DOC = "The comment"


@dataclass(frozen=True, slots=True)
class Edit:
    """A like (True) or unlike (False) from anyone; with `like` None, other changes.

    With `ids`, of many comments at once; with `undo`, the name of the action to undo.

    `fields` are not validated yet: the caller's role decides which of them count.
    """

    context: ParseContext
    id: str
    like: bool | None
    fields: Values
    ids: tuple[str, ...] | None = None
    undo: str | None = None
    # Of one comment, what its decision is about; of many, for each.
    seen: Seen = field(default_factory=dict)
    action: str = ""

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Edit":
        like, name, ids = values.get("like"), values.get("undo"), _ids(request)
        seen = _seen(request, ids)
        return cls(context, request.id, like, request.fields, ids, name, seen, action_of(request))


def _is_like(request: RawRequest) -> bool:
    fields = request.fields
    return fields.keys() == {"like"} and isinstance(fields["like"], bool)


def _is_of_many(request: RawRequest) -> bool:
    return request.fields.get("ids") is not None and not request.id


def _check_ids(ids: object) -> None:
    """Raises BadRequest."""
    if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
        raise BadRequest({"ids": "ids need a list of strings"})
    if len(ids) > MAX_IDS or any(len(id) > MAX_ID for id in ids):
        raise BadRequest({"ids": f"ids should be at most {MAX_IDS} ids of comments"})


IDS = Texts("ids", "Comments", MAX_IDS, MAX_ID, _check_ids)
_SEEN = Given(
    "seen",
    "Of each of `ids`, the `version` that was read, or its status; one that has changed is left",
    {"type": "array", "items": {"type": "string", "maxLength": MAX_SEEN}, "maxItems": MAX_IDS},
)
ONE_SEEN = Text("seen", "The `version` of the comment that was read, or its status", MAX_SEEN)
ACTION = Text("action", "A new random name for this action: 16 letters and digits", MAX_NAME)
_OF_AUTHOR = (COMMENT_TEXT,)
_OF_MODERATOR = (
    COMMENT_TEXT,
    Choice("status", "The status, by administrators", "", STATUSES),
    Flag("sticky", "Whether a root is pinned, by administrators"),
    Name("nick", "The author's name, by administrators"),
    Text("mail", "The author's mail, by administrators", MAX_MAIL),
    Text("link", "The author's website, by administrators", MAX_LINK),
    Given("ua", "If it is sent, the three before it are ignored", {"type": "string"}),
)
_UNDO = Fields(
    Edit.of, (Text("undo", "The name in the answer of a bulk action", MAX_ID, required=NO_UNDO),)
)
EDIT = Shapes(
    (
        Deferred(Edit.of, (IDS, _SEEN, ACTION, *_OF_MODERATOR), who=MODERATOR, when=_is_of_many),
        replace(_UNDO, who=MODERATOR, when=lambda request: "undo" in request.fields),
        Fields(
            Edit.of, (Flag("like", "Up or down by one"),), id=_ID_DOC, who=ANYBODY, when=_is_like
        ),
        Deferred(Edit.of, (ONE_SEEN, *_OF_MODERATOR), id=_ID_DOC),
    )
)


EDITED_ANSWER = AnswerSchema({"anyOf": [A_COMMENT, EMPTY, ref("Outcome")]})


@operation("comment_edit", "PUT", "/comment", EDIT, EDITOR, EDITED_ANSWER)
async def edit(comments: Comments, parsed: Edit, caller: Caller) -> JsonObject | Fragment | str:
    """The changed comment, or "" if no comment has that id or nothing was requested.

    Raises Forbidden, Refused and BadRequest.
    """
    if parsed.ids is not None:
        return await _edit_many(comments, parsed, parsed.ids, caller)
    if parsed.undo is not None:
        return await _undo(comments, parsed.undo, caller)
    if parsed.like is not None:
        changed = await domain.like(comments, parsed.id, 1 if parsed.like else -1, caller)
    else:
        wanted = _wanted(parsed.fields, parsed.context, is_moderator=caller.viewer.is_moderator)
        seen = parsed.seen.get(parsed.id, "")
        changed = await moderation.edit(comments, parsed.id, wanted, caller, seen)
    if changed is None:
        return ""
    comment, live = changed
    return Fragment(*View(caller.viewer, comments.display).elsewhere([comment], live))


def _ids(request: RawRequest) -> tuple[str, ...] | None:
    """The ids of many comments; None where the request is about one. Raises BadRequest."""
    if not _is_of_many(request):
        return None
    _check_ids(request.fields["ids"])
    return tuple(request.fields["ids"])


def _seen(request: RawRequest, ids: tuple[str, ...] | None) -> Seen:
    """Raises BadRequest."""
    seen = request.fields.get("seen")
    if ids is None:
        if not (seen is None or isinstance(seen, str) and len(seen) <= MAX_SEEN):
            raise BadRequest({"seen": "seen need the version of the comment"})
        return {request.id: seen or ""}
    return seen_of(ids, seen)


def action_of(request: RawRequest) -> str:
    """The name that the client gives to an action, "" for none. Raises BadRequest."""
    action = request.fields.get("action") or ""
    if not isinstance(action, str):
        raise BadRequest({"action": "action need a string"})
    return action


def seen_of(ids: Sequence[str], seen: object) -> Seen:
    """What of each of these comments was seen, anything where `seen` is None. Raises BadRequest."""
    if seen is None:
        return dict.fromkeys(ids, "")
    are_versions = isinstance(seen, list) and all(
        isinstance(each, str) and 0 < len(each) <= MAX_SEEN for each in seen
    )
    if not are_versions or len(cast(list[str], seen)) != len(ids):
        raise BadRequest({"seen": "seen need a version for each of ids"})
    return dict(zip(ids, cast(list[str], seen), strict=True))


async def _edit_many(
    comments: Comments, parsed: Edit, ids: tuple[str, ...], caller: Caller
) -> JsonObject:
    fields = {name: value for name, value in parsed.fields.items() if name not in _OF_ACTIONS}
    wanted = _wanted(fields, parsed.context, is_moderator=True)
    edits = [name for name in ("comment", "nick", "mail", "link") if fields.get(name)]
    if edits:
        _require_one(ids, fields, edits)
    order = Order(wanted.status, wanted.is_pinned, wanted if edits else None)
    name = parsed.action
    action = await actions.carry_out(comments, order, parsed.seen, caller, name=name)
    return await outcome(comments, action)


async def outcome(comments: Comments, action: Action) -> dict[str, Any]:
    """The answer to an action of some comments: their results, the name by which it is undone, ""
    for none, and who has changed or deleted those that were not what was seen."""
    answer: dict[str, Any] = {
        "results": dict(action.results),
        "undo": action.name if action.can_undo else "",
    }
    others = [id for id, result in action.results.items() if result in ("changed", "missing")]
    if others:
        last = await decisions.of(comments, others)
        answer["changed"] = {id: change_of(decision) for id, decision in last.items()}
    return answer


def change_of(decided: Decided) -> dict[str, object]:
    """Who has changed a comment last, on which way, and when."""
    return {"by": decided.by, "nick": decided.nick, "door": decided.door, "time": decided.at_ms}


def _require_one(ids: tuple[str, ...], fields: Values, edits: list[str]) -> None:
    """Raises BadRequest: words belong to one comment, and are undone apart from its status."""
    form = Form(fields)
    for name in edits if len(ids) != 1 else ():
        form.wrong(name, f"{name} can be changed of one comment at a time")
    for name in ("status", "sticky"):
        if name in fields:
            form.wrong(name, f"{name} can not be changed together with {edits[0]}")
    form.done()


async def _undo(comments: Comments, name: str, caller: Caller) -> JsonObject:
    undone = await actions.undo(comments, name, caller)
    return {"results": dict(undone.results), **({"undo": name} if undone.can_undo else {})}


def _wanted(fields: Values, context: ParseContext, *, is_moderator: bool) -> moderation.Edit:
    """Raises BadRequest and FieldTooLong. Ignores fields that nobody may change."""
    if isinstance(fields.get("comment"), dict):
        # Client 2.14 sends its whole form as the comment.
        fields = fields["comment"]
    wanted = Fields(Edit.of, _OF_MODERATOR if is_moderator else _OF_AUTHOR, is_readers=True)
    values = wanted.read(fields, context)
    if not is_moderator:
        return moderation.Edit(values["comment"])
    names = [values[name] for name in ("nick", "mail", "link")]
    if "ua" in fields:
        # Clients' comment boxes send the editor's names, together with the browser; administrators'
        # tools do not send a browser.
        names = ["", "", ""]
    return moderation.Edit(
        values["comment"],
        names[0],
        names[1],
        names[2],
        status=cast(Status, values["status"]) or None,
        is_pinned=values["sticky"],
    )


@dataclass(frozen=True, slots=True)
class Delete:
    """One comment, or with `ids` many."""

    id: str
    ids: tuple[str, ...] | None
    seen: Seen
    action: str

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Delete":
        ids = values.get("ids")
        return cls(request.id, ids, _seen(request, ids), action_of(request))


DELETE = Shapes(
    (
        Fields(Delete.of, (IDS, _SEEN, ACTION), who=MODERATOR, when=_is_of_many),
        Fields(Delete.of, (ONE_SEEN,), id=_ID_DOC),
    )
)


DELETED_ANSWER = AnswerSchema({"anyOf": [EMPTY, ref("Outcome")]})


@operation("comment_delete", "DELETE", "/comment", DELETE, AUTHOR, DELETED_ANSWER)
async def delete(comments: Comments, parsed: Delete, caller: Caller) -> JsonObject | str:
    """Raises Changed, Unauthorized, Forbidden and Unavailable."""
    if parsed.ids is not None:
        order, name = Order("deleted"), parsed.action
        action = await actions.carry_out(comments, order, parsed.seen, caller, name=name)
        return await outcome(comments, action)
    await moderation.delete(comments, parsed.id, caller, parsed.seen.get(parsed.id, ""))
    return ""

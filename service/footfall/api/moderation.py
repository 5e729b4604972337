"""Changes of comments: likes by everybody, edits by authors, all else by administrators."""

from dataclasses import dataclass
from typing import cast

from orjson import Fragment

from ..domain import comments, moderation
from ..domain.service import Service
from ..errors import Unauthorized
from ..http.params import MAX_LINK, MAX_MAIL, MAX_NICK, Form, RawRequest, Values
from ..markup import safe_nick
from ..model import STATUSES, Caller, Status
from ..render.view import View


@dataclass(frozen=True, slots=True)
class Edit:
    """A like (True) or unlike (False) from anybody; with `like` None, other changes.

    `fields` are still unchecked then: edit checks them once it knows that somebody is logged in.
    """

    id: str
    like: bool | None
    fields: Values

    @classmethod
    def parse(cls, request: RawRequest, service: Service) -> "Edit":
        fields = request.fields
        like = fields.get("like") if fields.keys() == {"like"} else None
        return cls(request.id, like if isinstance(like, bool) else None, fields)


async def edit(service: Service, parsed: Edit, caller: Caller) -> object:
    """The changed comment, or "" when no comment has that id, or nothing was asked for.

    Raises Unauthorized, Forbidden, Refused and BadRequest.
    """
    if parsed.like is not None:
        showing = await comments.like(service, parsed.id, 1 if parsed.like else -1, caller)
    else:
        # Checked before the fields: a stranger learns that a login is needed, and nothing else.
        if caller.viewer.account is None:
            raise Unauthorized()
        wanted = _wanted(parsed.fields, service, is_moderator=caller.viewer.is_administrator)
        showing = await moderation.edit(service, parsed.id, wanted, caller)
    if showing is None:
        return ""
    return Fragment(*View(caller.viewer, service.display, is_dated=False).elsewhere(showing))


def _wanted(fields: Values, service: Service, *, is_moderator: bool) -> moderation.Edit:
    """Raises BadRequest and FieldTooLong. Fields that nobody may change are left alone."""
    if isinstance(fields.get("comment"), dict):
        # Client 2.14 sends its whole form as the comment.
        fields = fields["comment"]
    form = Form(fields, is_readers=True)
    text = form.text("comment", service.rules.comment_length) or ""
    if not is_moderator:
        form.done()
        return moderation.Edit(text)
    status = form.choice("status", "", STATUSES)
    sticky = fields.get("sticky")
    if sticky not in (None, 0, 1):
        form.wrong("sticky", "sticky need true or false")
    names = [
        form.text(name, limit) or ""
        for name, limit in (("nick", MAX_NICK), ("mail", MAX_MAIL), ("link", MAX_LINK))
    ]
    form.done()
    if "ua" in fields:
        # Clients' comment boxes send the names of whoever edits, and say which browser it is; tools
        # of administrators do not say that.
        names = ["", "", ""]
    return moderation.Edit(
        text, safe_nick(names[0]), names[1], names[2],
        status=cast(Status, status) if status else None,
        is_pinned=None if sticky is None else bool(sticky),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Delete:
    id: str

    @classmethod
    def parse(cls, request: RawRequest, service: Service) -> "Delete":
        return cls(request.id)


async def delete(service: Service, parsed: Delete, caller: Caller) -> object:
    """Raises Unauthorized, Forbidden and Unavailable."""
    await moderation.delete(service, parsed.id, caller)
    return ""

"""Shapes of responses, as JSON Schema: the `data` of each operation under /api, and the form
without prefix if it differs.

An object has the fields named here and no others, so an undescribed field, such as a secret, does
not fit. Tests compare every response with these.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..http.response import JSON_TYPE
from ..model import ROLES, STATUSES

Schema = Mapping[str, Any]


class AnswerSchema(NamedTuple):
    """`bare` is the form without prefix, in place of `data`. With `has_lines` the body is JSON
    lines, and with `is_redirect` there is none: browsers are redirected. `type` is the value of
    Content-Type, and `others` are those that a request may select instead; `status` is that of a
    success."""

    data: Schema
    bare: Schema | None = None
    has_lines: bool = False
    is_redirect: bool = False
    type: bytes = JSON_TYPE
    others: Sequence[bytes] = ()
    status: int = 200

    @property
    def media(self) -> str:
        return media_of(self.type)


def media_of(type: bytes) -> str:
    """A value of Content-Type without its parameters."""
    return type.partition(b";")[0].decode()


def object_of(*, _optional: Mapping[str, Schema] | None = None, **needed: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {**needed, **(_optional or {})},
        "required": [*needed],
        "additionalProperties": False,
    }


def list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def map_of(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def page_of(of: Schema, *, _optional: Mapping[str, Schema] | None = None, **more: Schema) -> Schema:
    numbers = {"page": NUMBER, "totalPages": NUMBER, "pageSize": NUMBER}
    return object_of(**numbers, **more, data=list_of(of), _optional=_optional)


TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
REAL: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}
EMPTY: Schema = {"const": ""}
_SECOND_FACTOR: Schema = {"enum": ["on", None]}
MAYBE: Schema = {"type": ["string", "null"]}
DATE: Schema = {"type": "string", "format": "date-time"}
_ROLE: Schema = {"enum": [*ROLES]}
_STATUS: Schema = {"enum": [*STATUSES]}
MORE = object_of(after=TEXT, searched=NUMBER)
RESULTS = map_of({"enum": ["done", "unchanged", "missing", "changed", "failed"]})
# Who has changed a comment last.
CHANGE = object_of(
    by={"enum": ["author", "moderator", "filter", "footfall"]}, nick=TEXT, door=TEXT, time=NUMBER
)

_OF_COMMENT: Mapping[str, Schema] = {
    "objectId": TEXT,
    "status": _STATUS,
    "like": NUMBER,
    "avatar": TEXT,
    "comment": TEXT,
    "orig": TEXT,
    "time": NUMBER,
}
_MAYBE_OF_COMMENT: Mapping[str, Schema] = {
    "nick": MAYBE,
    "link": MAYBE,
    "pid": TEXT,
    "rid": TEXT,
    "browser": MAYBE,
    "os": MAYBE,
    "addr": TEXT,
    "user_id": TEXT,
    "type": _ROLE,
    "label": MAYBE,
    # A moderator's text: then the author has no badge.
    "edited": FLAG,
    # For administrators.
    "mail": MAYBE,
    "ip": TEXT,
    # The administrator whose name the author's looks like.
    "looks_like": TEXT,
    # Without prefix.
    "insertedAt": DATE,
    "sticky": FLAG,
    "url": TEXT,
    # For moderators.
    "version": TEXT,
}
_SHOWN_ON_PAGE: Mapping[str, Schema] = {
    **_MAYBE_OF_COMMENT,
    "level": NUMBER,
    "more": object_of(_optional={"text": FLAG, "replies": NUMBER}),
}
_REPLIED = object_of(nick=MAYBE, link=MAYBE, avatar=TEXT)
_ACCOUNT: Mapping[str, Schema] = {
    "objectId": TEXT,
    "email": TEXT,
    "display_name": TEXT,
    "url": TEXT,
    "type": _ROLE,
    "label": MAYBE,
    "avatar": TEXT,
}

# The schemas that have a name.
SCHEMAS: Mapping[str, Schema] = {
    "Comment": object_of(**_OF_COMMENT, _optional=_MAYBE_OF_COMMENT),
    "Reply": object_of(**_OF_COMMENT, _optional={**_SHOWN_ON_PAGE, "reply_user": _REPLIED}),
    "Root": object_of(**_OF_COMMENT, children=list_of(ref("Reply")), _optional=_SHOWN_ON_PAGE),
    "Account": object_of(**_ACCOUNT, _optional={"createdAt": DATE, "2fa": _SECOND_FACTOR}),
    # With the id at each service by which one may log in, under the name of the service.
    "Profile": {
        "type": "object",
        "properties": {
            **_ACCOUNT,
            "2fa": _SECOND_FACTOR,
            "password": {"type": "null"},
            "token": MAYBE,
            "device": TEXT,
        },
        "required": [*_ACCOUNT, "2fa"],
        "additionalProperties": MAYBE,
    },
    "Session": object_of(
        id=TEXT,
        current=FLAG,
        began={"type": ["integer", "null"]},
        ends=NUMBER,
        by=MAYBE,
        browser=TEXT,
        os=TEXT,
        network=TEXT,
    ),
    "Ban": object_of(
        value=TEXT,
        kind={"enum": ["address", "network", "mail", "domain", "account", "host", "words"]},
        until=or_null(DATE),
        reason=TEXT,
        createdAt=DATE,
        by=TEXT,
        caught=NUMBER,
        caughtAt=or_null(DATE),
    ),
    "Outcome": object_of(results=RESULTS, _optional={"undo": TEXT, "changed": map_of(CHANGE)}),
    "Counts": map_of(NUMBER),
}

A_COMMENT = ref("Comment")
_ACCOUNTS = page_of(ref("Account"))
_COUNTS = list_of(ref("Counts"))
_PAGE = page_of(ref("Root"), count=NUMBER)
_NUMBERS = list_of(NUMBER)
_RANKED = object_of(count=NUMBER, nick=TEXT, link=TEXT, avatar=TEXT, _optional={"level": NUMBER})
_CHALLENGE = map_of({})
_MAY_VERIFY: Schema = {"anyOf": [EMPTY, object_of(verify={"const": True})]}
REST: Mapping[str, Schema] = {"more": MORE}

READ = AnswerSchema(
    {"anyOf": [{"const": 0}, _COUNTS]}, {"anyOf": [NUMBER, _NUMBERS, ref("Counts"), _COUNTS]}
)
PAGE = AnswerSchema(_PAGE, _PAGE)
COUNT = AnswerSchema({"anyOf": [NUMBER, _NUMBERS]}, {"anyOf": [NUMBER, _NUMBERS]})
COMMENT = AnswerSchema(A_COMMENT)
DONE = AnswerSchema(EMPTY)
SECOND_FACTOR = AnswerSchema(
    {
        "anyOf": [
            object_of(enable=FLAG),
            object_of(otpauth_url=TEXT, secret=TEXT, _optional={"qr": TEXT}),
        ]
    }
)
RECOVERY = AnswerSchema(object_of(recovery=list_of(TEXT)))
SESSIONS = AnswerSchema(
    object_of(proof={"enum": ["code", "password", "log-in"]}, sessions=list_of(ref("Session")))
)
CHALLENGE = AnswerSchema(or_null(_CHALLENGE))
WHO = AnswerSchema({"anyOf": [ref("Profile"), object_of()]})
PROFILE = AnswerSchema(ref("Profile"))
REDIRECT = AnswerSchema({}, is_redirect=True)
REGISTERED = AnswerSchema(_MAY_VERIFY)
USERS = AnswerSchema({"anyOf": [list_of(_RANKED), _ACCOUNTS, ref("Account"), EMPTY]})
NUMBER_OF = AnswerSchema(object_of(count=NUMBER))

"""What answers look like, as JSON Schema: the `data` of each operation under /api, and what the
dialect without prefix sends where that is something else.

An object has the fields that are named here and no others, so a field that nobody described, such
as a secret, does not fit. Tests compare every answer with these.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..http.response import JSON_TYPE
from ..model import ROLES, STATUSES

Schema = Mapping[str, Any]


class AnswerSchema(NamedTuple):
    """`bare` is what the dialect without prefix sends in place of `data`. With `has_lines` the body
    is a JSON text a line, and with `is_redirect` there is none: browsers are sent on. `type` is
    the value of Content-Type, and `others` are those that a request may ask for in its place;
    `status` is that of an answer that is no refusal."""

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


def _object(*, _optional: Mapping[str, Schema] | None = None, **needed: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {**needed, **(_optional or {})},
        "required": [*needed],
        "additionalProperties": False,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _map(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _page(of: Schema, *, _optional: Mapping[str, Schema] | None = None, **more: Schema) -> Schema:
    numbers = {"page": NUMBER, "totalPages": NUMBER, "pageSize": NUMBER}
    return _object(**numbers, **more, data=_list(of), _optional=_optional)


TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
REAL: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}
EMPTY: Schema = {"const": ""}
MAYBE: Schema = {"type": ["string", "null"]}
DATE: Schema = {"type": "string", "format": "date-time"}
_ROLE: Schema = {"enum": [*ROLES]}
_STATUS: Schema = {"enum": [*STATUSES]}
_MORE = _object(after=TEXT, searched=NUMBER)

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
    # For administrators.
    "mail": MAYBE,
    "ip": TEXT,
    # Without prefix.
    "insertedAt": DATE,
    "sticky": FLAG,
    "url": TEXT,
}
_SHOWN_ON_PAGE: Mapping[str, Schema] = {
    **_MAYBE_OF_COMMENT,
    "level": NUMBER,
    "more": _object(_optional={"text": FLAG, "replies": NUMBER}),
}
_REPLIED = _object(nick=MAYBE, link=MAYBE, avatar=TEXT)
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
    "Comment": _object(**_OF_COMMENT, _optional=_MAYBE_OF_COMMENT),
    "Reply": _object(**_OF_COMMENT, _optional={**_SHOWN_ON_PAGE, "reply_user": _REPLIED}),
    "Root": _object(**_OF_COMMENT, children=_list(ref("Reply")), _optional=_SHOWN_ON_PAGE),
    "Account": _object(**_ACCOUNT, _optional={"createdAt": DATE}),
    # With the id at each service by which one may log in, under the name of the service.
    "Profile": {
        "type": "object",
        "properties": {
            **_ACCOUNT,
            "2fa": {"enum": ["on", None]},
            "password": {"type": "null"},
            "token": MAYBE,
            "device": TEXT,
        },
        "required": [*_ACCOUNT, "2fa"],
        "additionalProperties": MAYBE,
    },
    "Session": _object(
        id=TEXT,
        current=FLAG,
        began={"type": ["integer", "null"]},
        ends=NUMBER,
        by=MAYBE,
        browser=TEXT,
        os=TEXT,
        network=TEXT,
    ),
    "Ban": _object(
        value=TEXT,
        kind={"enum": ["address", "network", "mail", "account"]},
        until=_or_null(DATE),
        reason=TEXT,
        createdAt=DATE,
        by=TEXT,
    ),
    "Outcome": _object(
        results=_map({"enum": ["done", "unchanged", "missing", "changed", "failed"]}),
        _optional={"undo": TEXT},
    ),
    "Counts": _map(NUMBER),
}

_COMMENT, _ACCOUNTS = ref("Comment"), _page(ref("Account"))
_COUNTS = _list(ref("Counts"))
_PAGE = _page(ref("Root"), count=NUMBER)
_QUEUE = _page(_COMMENT, spamCount=NUMBER, waitingCount=NUMBER, _optional={"more": _MORE})
_NUMBERS = _list(NUMBER)
_RANKED = _object(count=NUMBER, nick=TEXT, link=TEXT, avatar=TEXT, _optional={"level": NUMBER})
_CHALLENGE = _map({})
_MAY_VERIFY: Schema = {"anyOf": [EMPTY, _object(verify={"const": True})]}
_REST: Mapping[str, Schema] = {"more": _MORE}
_STORED = _object(
    id=TEXT,
    page=TEXT,
    status=TEXT,
    pinned=FLAG,
    likes=NUMBER,
    at=TEXT,
    nick=MAYBE,
    mail=MAYBE,
    link=MAYBE,
    account=MAYBE,
    ip=MAYBE,
    region=MAYBE,
    ua=MAYBE,
    replies_to=MAYBE,
    text=TEXT,
)

READ = AnswerSchema(
    {"anyOf": [{"const": 0}, _COUNTS]}, {"anyOf": [NUMBER, _NUMBERS, ref("Counts"), _COUNTS]}
)
PAGE = AnswerSchema(_PAGE, _PAGE)
COUNT = AnswerSchema({"anyOf": [NUMBER, _NUMBERS]}, {"anyOf": [NUMBER, _NUMBERS]})
RECENT = AnswerSchema(_list(_COMMENT), _list(_COMMENT))
QUEUE = AnswerSchema(_QUEUE, _QUEUE)
QUEUE_PART = AnswerSchema(
    _object(
        data=_list(_COMMENT),
        after=TEXT,
        searched=NUMBER,
        total=_or_null(NUMBER),
        waiting=NUMBER,
        spam=NUMBER,
    )
)
BULK_ACTION = AnswerSchema(
    _object(
        name=TEXT,
        total=_or_null(NUMBER),
        done=NUMBER,
        left=NUMBER,
        isRunning=FLAG,
        isCut=FLAG,
        canUndo=FLAG,
    )
)
QUEUE_GROUPS = AnswerSchema(
    _object(
        data=_list(
            _object(
                kind=TEXT,
                value=TEXT,
                ids=_list(TEXT),
                authors=NUMBER,
                addresses=NUMBER,
                samples=_list(_object(objectId=TEXT, nick=TEXT, orig=TEXT, url=TEXT, time=NUMBER)),
            )
        ),
        others=_list(TEXT),
        isPart=FLAG,
        waiting=NUMBER,
        spam=NUMBER,
    )
)
REPLIED = AnswerSchema(_object(reply=_COMMENT, results=_map(TEXT), undo=TEXT))
PREVIEW = AnswerSchema(_object(html=TEXT))
QUEUE_NEWS = AnswerSchema(_object(ids=_list(TEXT), total=NUMBER, waiting=NUMBER, spam=NUMBER))
COMMENT = AnswerSchema(_COMMENT)
EDITED = AnswerSchema({"anyOf": [_COMMENT, EMPTY, ref("Outcome")]})
DELETED = AnswerSchema({"anyOf": [EMPTY, ref("Outcome")]})
DONE = AnswerSchema(EMPTY)
SECOND_FACTOR = AnswerSchema(
    {
        "anyOf": [
            _object(enable=FLAG),
            _object(otpauth_url=TEXT, secret=TEXT, _optional={"qr": TEXT}),
        ]
    }
)
RECOVERY = AnswerSchema(_object(recovery=_list(TEXT)))
SESSIONS = AnswerSchema(
    _object(proof={"enum": ["code", "password", "log-in"]}, sessions=_list(ref("Session")))
)
CHALLENGE = AnswerSchema(_or_null(_CHALLENGE))
WHO = AnswerSchema({"anyOf": [ref("Profile"), _object()]})
PROFILE = AnswerSchema(ref("Profile"))
ARCHIVE = AnswerSchema(
    _object(type=TEXT, version=NUMBER, time=NUMBER, tables=_list(TEXT), data=_map(_list(_map({}))))
)
REDIRECT = AnswerSchema({}, is_redirect=True)
ADDRESS = AnswerSchema(_object(url=TEXT))
REGISTERED = AnswerSchema(_MAY_VERIFY)
USERS = AnswerSchema({"anyOf": [_list(_RANKED), _ACCOUNTS, ref("Account"), EMPTY]})
AUTHOR = AnswerSchema(
    _object(account=_or_null(ref("Account")), mail=TEXT, data=_list(_STORED), _optional=_REST)
)
ERASED = AnswerSchema(_object(comments=NUMBER, damaged=NUMBER, account=FLAG, _optional=_REST))
BANS = AnswerSchema(_page(ref("Ban")))
BAN = AnswerSchema(ref("Ban"))
LIFTED = AnswerSchema(_object(lifted=FLAG))
COUNTERS = AnswerSchema(
    {
        "anyOf": [
            _object(path=TEXT, counts=ref("Counts")),
            _object(
                data=_list(_object(count=NUMBER, type=TEXT, path=TEXT)),
                matching=NUMBER,
                after=NUMBER,
                share=REAL,
            ),
        ]
    }
)
_HOLDING = _object(views=NUMBER, others=NUMBER, comments=NUMBER)
PAGE_MOVE = AnswerSchema(_object(to=TEXT, had=_HOLDING, met=_HOLDING, isOver=FLAG))
VIEWS = AnswerSchema(
    _object(
        path=MAYBE,
        unit=TEXT,
        to=TEXT,
        total=NUMBER,
        views=_list(
            _object(at=TEXT, views=NUMBER, _optional={"people": NUMBER, "visitors": NUMBER})
        ),
        **{"from": TEXT},
        _optional={
            "people": NUMBER,
            "visitors": NUMBER,
            "is_exact": FLAG,
            "bots": _list(_object(views=NUMBER, as_people=FLAG, **{"class": TEXT})),
            "sources": _list(_object(host=TEXT, views=NUMBER)),
        },
    )
)
VIEWS_CSV = AnswerSchema({"type": "string"}, type=b"text/csv; charset=utf-8")
TOP = AnswerSchema(
    _object(
        by=TEXT,
        days=NUMBER,
        pages=_list(
            _object(
                path=TEXT, views=NUMBER, people=_or_null(NUMBER), visitors=NUMBER, comments=NUMBER
            )
        ),
    )
)
TOTALS = AnswerSchema(
    _object(
        views=_or_null(NUMBER),
        comments=NUMBER,
        today=_or_null(
            _object(views=NUMBER, people=_or_null(NUMBER), visitors=_or_null(NUMBER), is_exact=FLAG)
        ),
    )
)
ERASED_PAGE = AnswerSchema(_object(path=TEXT))
AS_PEOPLE = AnswerSchema(_list(TEXT))
NUMBER_OF = AnswerSchema(_object(count=NUMBER))
LOG = AnswerSchema(
    _list(
        _object(
            entry=TEXT,
            time=NUMBER,
            nick=TEXT,
            _optional=dict.fromkeys(("by", "did", "id", "was", "now"), TEXT),
        )
    )
)
OUTBOX = AnswerSchema(
    _object(
        isOn=FLAG,
        waiting=NUMBER,
        later=NUMBER,
        undelivered=NUMBER,
        since_ms=NUMBER,
        data=_list(
            _object(
                entry=TEXT,
                time=DATE,
                error=TEXT,
                kind=TEXT,
                id=TEXT,
                was=TEXT,
                now=TEXT,
                by=TEXT,
                version=NUMBER,
                attempts=NUMBER,
                is_judged=FLAG,
                seen=TEXT,
                met=TEXT,
            )
        ),
    )
)
TOLD = AnswerSchema(_map(TEXT))
LINES = AnswerSchema({}, has_lines=True)
SETTINGS = AnswerSchema(_list(_object(name=TEXT, value=TEXT, default=TEXT, meaning=TEXT)))
STATE = AnswerSchema(
    _object(
        versions=_map(TEXT),
        durability=TEXT,
        problems=_list(TEXT),
        redisMs=REAL,
        servers=_list(_map(TEXT)),
        stored=_map(_object(number=REAL, bytesEach=REAL)),
        connections=REAL,
        waiting=NUMBER,
        requests=REAL,
        failed=REAL,
        seconds=_map(REAL),
        redisSeconds=_map(REAL),
    )
)

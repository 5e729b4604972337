"""The dialects: how a request says who sends it, and what its answer looks like.

Waline's clients speak one under /api, where everything is wrapped; older ones speak another without
prefix, where counts and comments are bare and have shapes of their own. Both are for pages of other
sites, and who is logged in there sends a token. The dialect of this service's own pages is in
own_pages.py; prefixes.py says which one is spoken where.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from starlette.types import Scope

from ..errors import Forbidden, ServiceError
from ..http import cors
from ..http.client import Headers, is_allowed, is_own_page, token_of
from ..http.envelope import ENVELOPE, NO_ENVELOPE, Envelope
from ..http.fetch_metadata import is_sent_elsewhere
from ..http.policy import Policy
from ..http.response import COMMON, Refuse, Reply, Response, answer_of, refused
from ..http.response import Headers as Lines
from ..render.view import DateField, inserted_at
from .answers import Answer
from .schemas import TEXT, AnswerSchema, map_of, object_of


class Refusals(NamedTuple):
    """The format of errors; and for /openapi.json a name, and the body of each status. One with 200
    comes in place of an answer."""

    answer: Refuse
    name: str
    described: Mapping[int, AnswerSchema]


# Compared by identity, since finished pages are kept by it.
@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """Its values are functions wherever dialects differ by more than words."""

    # Who sends a request.

    # Raises Forbidden unless its sender may call.
    admit: Callable[[Scope, Headers, Policy], None]
    # What says who that is; "" for nobody.
    token: Callable[[Scope, Headers, Policy], str]
    # May a page of another site have made the browser send a request with this method?
    is_sent_elsewhere: Callable[[str, Headers], bool]

    # What any answer looks like.

    headers: Lines
    # Of the request's headers and the methods that there are.
    preflight: Callable[[Headers, str], Response]
    envelope: Envelope
    # Around counts and comments, as pages ask for them.
    content_envelope: Envelope
    refusals: Refusals
    # The data, and headers, of an answer that says more than its data.
    finish: Callable[[Answer, Scope, Headers, Policy], Awaitable[tuple[Any, Lines]]]
    # The whole answer, or that the client has it already; with further headers.
    respond: Callable[[Reply | Response, Headers, Lines], Response]

    # What counts and comments look like.

    # The JSON of a count of this type, with %d for the number.
    count: Callable[[str], bytes]
    # The JSON of what is the only thing that was asked for.
    single: Callable[[bytes], bytes]
    # The parameters that name the articles whose comments are counted: the first that was sent.
    article_names: Sequence[str]
    # A field that comments have besides `time`.
    date: DateField | None
    # What stands before the text of a reply to (nick, id).
    mention: Callable[[str, str], str]

    @property
    def is_open(self) -> bool:
        """Does SECURE_DOMAINS alone decide who may call, and Authorization say who that is? The
        fast path looks at nothing else."""
        return self.admit is _admit_page and self.token is _token


def usual(dialect: Dialect) -> Envelope:
    return dialect.envelope


def content(dialect: Dialect) -> Envelope:
    return dialect.content_envelope


def _admit_page(scope: Scope, headers: Headers, policy: Policy) -> None:
    if not (is_allowed(headers, policy.domains) or is_own_page(headers, policy)):
        raise Forbidden()


def _token(scope: Scope, headers: Headers, policy: Policy) -> str:
    return token_of(headers)


async def _with_token(
    answer: Answer, scope: Scope, headers: Headers, policy: Policy
) -> tuple[Any, Lines]:
    if answer.session and answer.session.token:
        return answer.data | {"token": answer.session.token}, answer.headers
    return answer.data, answer.headers


def _respond(reply: Reply | Response, headers: Headers, extra: Lines) -> Response:
    answer = answer_of(reply, headers.get(b"if-none-match", b""))
    return replace(answer, extra=[*answer.extra, *extra]) if extra else answer


@cache
def _count_in_object(type: str) -> bytes:
    return b'{"%b":%%d}' % type.encode()


# A 500 is a defect.
REFUSAL_STATUSES = sorted({error.status for error in ServiceError.below()} - {500})


def _refusal(status: int) -> AnswerSchema:
    errors = [error for error in ServiceError.below() if error.status == status]
    numbers = sorted({error.errno for error in errors})
    properties = {"errmsg": {"anyOf": [TEXT, map_of(TEXT)]}}
    return AnswerSchema(object_of(errno={"enum": numbers}, _optional=properties))


WALINE = Dialect(
    admit=_admit_page,
    token=_token,
    is_sent_elsewhere=is_sent_elsewhere,
    headers=COMMON,
    preflight=cors.permitted,
    envelope=ENVELOPE,
    content_envelope=ENVELOPE,
    refusals=Refusals(refused, "Error", {status: _refusal(status) for status in REFUSAL_STATUSES}),
    finish=_with_token,
    respond=_respond,
    count=_count_in_object,
    single=lambda json: b"[%b]" % json,
    article_names=("url",),
    date=None,
    mention=lambda nick, id: "",
)

BARE = replace(
    WALINE,
    content_envelope=NO_ENVELOPE,
    count=lambda type: b"%d",
    single=lambda json: json,
    # Clients send `url` although Waline's documentation says `path`.
    article_names=("url", "path"),
    date=inserted_at,
    mention=lambda nick, id: f"[@{nick}](#{id}): ",
)

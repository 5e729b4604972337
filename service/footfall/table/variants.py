"""API variants: how a request identifies its sender, and the form of the response.

Waline's clients use one under /api, where everything is wrapped; older ones another without prefix,
where counts and comments are bare and have other shapes. Both serve pages of other sites, which
send a token. The admin UI's variant is in admin_ui.py; prefixes.py maps prefixes to variants.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, NamedTuple

from starlette.types import Scope

from ..errors import Forbidden, ServiceError
from ..http import cors
from ..http.client import Headers, is_admin_page, is_allowed, token_of
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


# Compared by identity, since finished pages are cached by it.
@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """An API variant: its values are functions wherever variants differ by more than words."""

    # Finds the sender of a request.

    # Raises Forbidden unless its sender may call.
    admit: Callable[[Scope, Headers, Policy], None]
    # The token in the request; "" for none.
    token: Callable[[Scope, Headers, Policy], str]
    # The way on which moderators decide by it.
    door: Literal["panel", "api"]
    # May a page of another site have made the browser send a request with this method?
    is_sent_elsewhere: Callable[[str, Headers], bool]

    # What any answer looks like.

    headers: Lines
    # From the request's headers and the route's methods.
    preflight: Callable[[Headers, str], Response]
    envelope: Envelope
    # Around counts and comments.
    content_envelope: Envelope
    refusals: Refusals
    # The data, and headers, of an answer that has more than data.
    finish: Callable[[Answer, Scope, Headers, Policy], Awaitable[tuple[Any, Lines]]]
    # The whole answer, or that the client has it already; with further headers.
    respond: Callable[[Reply | Response, Headers, Lines], Response]

    # What counts and comments look like.

    # The JSON of a count of this type, with %d for the number.
    count: Callable[[str], bytes]
    # The JSON for a single requested value.
    single: Callable[[bytes], bytes]
    # The parameters that name the articles whose comments are counted: the first that was sent.
    article_names: Sequence[str]
    # A field that comments have in addition to `time`.
    date: DateField | None
    # What stands before the text of a reply to (nick, id).
    mention: Callable[[str, str], str]

    @property
    def is_open(self) -> bool:
        """Do SECURE_DOMAINS and Authorization alone decide about callers? The fast path checks
        nothing else."""
        return self.admit is _admit_page and self.token is _token


def usual(variant: Variant) -> Envelope:
    return variant.envelope


def content(variant: Variant) -> Envelope:
    return variant.content_envelope


def _admit_page(scope: Scope, headers: Headers, policy: Policy) -> None:
    if not (is_allowed(headers, policy.domains) or is_admin_page(headers, policy)):
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


WALINE = Variant(
    admit=_admit_page,
    token=_token,
    door="api",
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
    # Clients send `url` although Waline's documentation names `path`.
    article_names=("url", "path"),
    date=inserted_at,
    mention=lambda nick, id: f"[@{nick}](#{id}): ",
)

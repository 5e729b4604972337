"""Logging in through other services: `oauth` in clients and browsers.

A browser is sent to the other service and returns here. It keeps a cookie until it is logged in, so
that a login started in one browser is useless in another. The login ends on our login page, with a
ticket after the `#`, where no server and no log sees it; no address has a token.
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from ...errors import BadRequest, FlowExpired, ServiceError
from ...http.fetch_metadata import require_navigation
from ...http.params import MAX_LINK, Form, RawRequest
from ...http.response import Headers, Response
from ...model import Caller
from ...outside.targets import Targets, origin_of
from ...table import schemas
from ...table.answers import Answer
from ...table.context import ParseContext
from ...table.fields import Fields, FieldValues, Text
from ...table.rows import Declared
from ...table.schemas import TEXT, AnswerSchema, object_of
from ...table.who import ANYBODY, MEMBER
from ..noun import Accounts
from ..rules import identities
from ..rules.reauthentication import OwnerProof
from .flow_cookie import cookie, kept
from .session import PROOF, proof_of

operation = Declared[Accounts]("accounts")

MAX_NAME, MAX_STATE, MAX_CODE = 32, 2048, 4096
# With any of these a browser comes back.
_ANSWERS = ("code", "oauth_verifier", "error")
_ANSWER_FIELDS = (
    Text("state", "From the service: the login that it ends", MAX_STATE),
    Text("iss", "From the service: its issuer", MAX_LINK),
    Text("oauth_token", "From the service, with OAuth 1", MAX_CODE),
    Text("code", "From the service: the proof of the login", MAX_CODE),
    Text("oauth_verifier", "The same, with OAuth 1", MAX_CODE),
    Text("error", "From the service: why the login failed", MAX_CODE),
)
_TARGET_FIELDS = (
    Text("type", "The service, as `github`", MAX_NAME),
    Text("redirect", "The page where the browser ends", MAX_LINK),
)


@dataclass(frozen=True, slots=True)
class LogInStep:
    """A browser that leaves for the service `name`, or that comes back with an `answer`."""

    name: str
    redirect: str
    state: str
    answer: Mapping[str, str]
    kept: str = ""
    wants_page: bool = False
    proof: OwnerProof = OwnerProof()

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "LogInStep":
        return cls(
            values["type"],
            values["redirect"],
            values["flow"] or values["state"],
            _answer(values),
            kept(context.providers.targets, request.headers),
            b"text/html" in request.headers.get(b"accept", b""),
        )

    @classmethod
    def of_addition(
        cls, values: FieldValues, request: RawRequest, context: ParseContext
    ) -> "LogInStep":
        return cls(values["type"], values["redirect"], "", {}, proof=proof_of(values))


def _answer(values: FieldValues) -> Mapping[str, str]:
    """What a browser brings back from the service; nothing if it leaves for it."""
    is_back = any(values[name] for name in _ANSWERS)
    names = [
        answer_field.name
        for answer_field in _ANSWER_FIELDS
        if is_back and values[answer_field.name]
    ]
    return {name: values[name] for name in names}


def _check_state(form: Form, values: FieldValues) -> None:
    if values["state"] and not _answer(values):
        # Waline takes a token there, and addresses are written down in too many places.
        form.wrong("state", "state is none of yours to set: say who you are in Authorization")


STEP = Fields(
    LogInStep.of,
    (
        *_TARGET_FIELDS,
        *_ANSWER_FIELDS,
        Text("flow", "In place of `state`, for services that change it", MAX_STATE),
    ),
    source="query",
    # A picture of this address would put another login into the place of one under way.
    before=lambda request: require_navigation(request.headers),
    check=_check_state,
)
ADDITION = Fields(LogInStep.of_addition, (*_TARGET_FIELDS, *PROOF))


@operation(
    "oauth", "GET", "/oauth", STEP, ANYBODY, schemas.REDIRECT, admits_all=True, is_unsafe=True
)
async def oauth(accounts: Accounts, parsed: LogInStep, caller: Caller) -> Response:
    """Redirect to the other service, or back from it. A logged-in caller adds it to their
    account."""
    targets = accounts.providers.targets
    target = ""
    try:
        if not parsed.answer:
            # No address has a password in it: this adds only if the login itself is proof.
            adds = OwnerProof() if caller.viewer.account else None
            address, state = await identities.start(
                accounts, parsed.name, parsed.redirect, caller, adds=adds
            )
            return _sent(address, cookie(targets, state, identities.FLOW_SECONDS))
        if not hmac.compare_digest(parsed.kept.encode(), parsed.state.encode()):
            raise FlowExpired()
        flow = await identities.take(accounts.store, parsed.state)
        target = flow.target
        arrival = await identities.arrive(accounts, flow, parsed.answer, caller)
        seconds = identities.TICKET_SECONDS if arrival.proof else 0
        line = cookie(targets, arrival.proof, seconds)
        return _sent(_end(targets, target, arrival), line)
    except ServiceError as error:
        if not parsed.wants_page or not accounts.providers.is_any or isinstance(error, BadRequest):
            raise
        # A person sees this: our page shows the error as text.
        accounts.process.metrics.refused.add(type(error).__name__)
        page = target.partition("#")[0] if targets.is_own(target) else _page(targets, target)
        return _sent(f"{page}#problem={type(error).__name__}", cookie(targets, ""))


ADDRESS_ANSWER = AnswerSchema(object_of(url=TEXT))


@operation("oauth_add", "POST", "/oauth", ADDITION, MEMBER, ADDRESS_ANSWER)
async def add(accounts: Accounts, parsed: LogInStep, caller: Caller) -> Answer:
    """Where a browser goes so that a service is added to the account that is logged in."""
    address, state = await identities.start(
        accounts, parsed.name, parsed.redirect, caller, adds=parsed.proof
    )
    line = cookie(accounts.providers.targets, state, identities.FLOW_SECONDS)
    return Answer({"url": address}, headers=line)


def _end(targets: Targets, target: str, arrival: identities.Arrival) -> str:
    """The address at which a login ends."""
    if not arrival.ticket:
        return target or f"{targets.server_url}/ui/profile"
    code = "&code" if arrival.needs_code else ""
    return f"{_page(targets, target)}#ticket={arrival.ticket}{code}"


def _page(targets: Targets, target: str) -> str:
    """Our login page, which continues to the page that requested the login."""
    log_in = f"{targets.server_url}/ui/login"
    path = target.removeprefix(targets.server_url).partition("#")[0].partition("?")[0]
    if not target:
        return log_in
    if targets.is_own(target) and path == "/ui/login":
        return target.partition("#")[0]
    if targets.is_own(target) and (path in ("", "/", "/ui") or path.startswith("/ui/")):
        # Only the demonstration, or the name of a page.
        next = path.removeprefix("/ui").strip("/") if path.strip("/") else "demo"
        return f"{log_in}?{urlencode({'next': next})}" if next else log_in
    return f"{log_in}?{urlencode({'for': origin_of(target), 'redirect': target})}"


def _sent(address: str, cookies: Headers) -> Response:
    return Response(302, b"", [(b"location", address.encode()), *cookies])

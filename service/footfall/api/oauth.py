"""Logging in by other services: what clients and browsers know as `oauth`.

A browser is sent to the other service and comes back here. It keeps a cookie until it is logged in,
so that a log-in which one browser began is of no use in another. It ends on our page to log in on,
with a ticket behind the `#`, where no server and no log sees it; no address has a token.
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from ..domain import identities
from ..domain.reauthentication import OwnerProof
from ..domain.site import Site
from ..errors import BadRequest, Denied, FlowExpired, ServiceError
from ..http.fetch_metadata import require_navigation
from ..http.params import MAX_LINK, Form, RawRequest
from ..http.response import Headers, Response
from ..model import Caller
from ..outside.targets import Targets, origin_of
from .answers import Answer
from .flow_cookie import cookie, kept
from .session import parse_proof

MAX_NAME, MAX_STATE, MAX_CODE = 32, 2048, 4096
# With any of these a browser comes back.
_ANSWERS = ("code", "oauth_verifier", "error")
_LIMITS = {"state": MAX_STATE, "iss": MAX_LINK, "oauth_token": MAX_CODE} | dict.fromkeys(
    _ANSWERS, MAX_CODE
)


@dataclass(frozen=True, slots=True)
class Step:
    """A browser that leaves for the service `name`, or that comes back with an `answer`."""

    name: str
    redirect: str
    state: str
    answer: Mapping[str, str]
    kept: str = ""
    wants_page: bool = False
    proof: OwnerProof = OwnerProof()

    @classmethod
    def parse(cls, request: RawRequest, site: Site) -> "Step":
        # A picture of this address would put another log-in into the place of one under way.
        require_navigation(request.headers)
        form = Form(request.query)
        found = {name: form.text(name, limit) for name, limit in _LIMITS.items()}
        flow = form.text("flow", MAX_STATE) or found["state"] or ""
        answer = {name: value for name, value in found.items() if value}
        is_back = any(name in answer for name in _ANSWERS)
        if answer.get("state") and not is_back:
            # The reference takes a token there, and addresses are written down in too many places.
            form.wrong("state", "state is none of yours to set: say who you are in Authorization")
        name, redirect = form.text("type", MAX_NAME), form.text("redirect", MAX_LINK)
        form.done()
        return cls(
            name or "",
            redirect or "",
            flow,
            answer if is_back else {},
            kept(site.providers.targets, request.headers),
            b"text/html" in request.headers.get(b"accept", b""),
        )

    @classmethod
    def parse_addition(cls, request: RawRequest, site: Site) -> "Step":
        form = Form(request.fields)
        name, redirect = form.text("type", MAX_NAME), form.text("redirect", MAX_LINK)
        proof = parse_proof(form)
        form.done()
        return cls(name or "", redirect or "", "", {}, proof=proof)


async def oauth(site: Site, parsed: Step, caller: Caller) -> Response:
    """On to the other service, or back from it. Who is logged in adds it to their account."""
    targets = site.providers.targets
    target = ""
    try:
        if not parsed.answer:
            # No address has a password in it: this adds only if the log-in itself is proof.
            adds = OwnerProof() if caller.viewer.account else None
            address, state = await identities.begin(
                site, parsed.name, parsed.redirect, caller, adds=adds
            )
            return _sent(address, cookie(targets, state, identities.FLOW_SECONDS))
        if not hmac.compare_digest(parsed.kept.encode(), parsed.state.encode()):
            raise FlowExpired()
        flow = await identities.take(site, parsed.state)
        target = flow.target
        arrival = await identities.arrive(site, flow, parsed.answer, caller)
        line = cookie(targets, arrival.proof, identities.TICKET_SECONDS * bool(arrival.proof))
        return _sent(_end(targets, target, arrival), line)
    except ServiceError as error:
        if not parsed.wants_page or not site.providers.is_any or isinstance(error, BadRequest):
            raise
        # Somebody looks at this: our page says it in words.
        site.process.metrics.refused.add(type(error).__name__)
        page = target.partition("#")[0] if targets.is_own(target) else _page(targets, target)
        return _sent(f"{page}#problem={type(error).__name__}", cookie(targets, ""))


async def add(site: Site, parsed: Step, caller: Caller) -> Answer:
    """Where a browser goes so that a service is added to the account that is logged in."""
    if caller.viewer.account is None:
        raise Denied()
    address, state = await identities.begin(
        site, parsed.name, parsed.redirect, caller, adds=parsed.proof
    )
    line = cookie(site.providers.targets, state, identities.FLOW_SECONDS)
    return Answer({"url": address}, headers=line)


def _end(targets: Targets, target: str, arrival: identities.Arrival) -> str:
    """The address at which a log-in ends."""
    if not arrival.ticket:
        return target or f"{targets.server_url}/ui/profile"
    return f"{_page(targets, target)}#ticket={arrival.ticket}" + "&code" * arrival.needs_code


def _page(targets: Targets, target: str) -> str:
    """Our page to log in on, which leads on to where the log-in was asked for."""
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
    headers = [(b"location", address.encode()), (b"cache-control", b"no-store"), *cookies]
    return Response(302, b"", headers)

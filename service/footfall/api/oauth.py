"""Logging in by other services: what clients and browsers know as `oauth`.

A browser is sent to the other service and comes back here. It keeps a cookie meanwhile, so that a
log-in which one browser began is of no use in another. In the end it is on a page that settings
name: this service's own, with a ticket behind the `#`, where no server and no log sees it.
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from ..domain import identities
from ..domain.reauthentication import OwnerProof
from ..domain.service import Service
from ..errors import BadRequest, Denied, FlowExpired, ServiceError
from ..http import envelope
from ..http.params import MAX_LINK, Form, RawRequest
from ..http.response import Response
from ..model import Caller
from ..outside.targets import Targets, origin_of
from .session import parse_proof

MAX_NAME, MAX_STATE, MAX_CODE = 32, 2048, 4096
# With any of these a browser comes back.
_ANSWERS = ("code", "oauth_verifier", "error")
_LIMITS = {"state": MAX_STATE, "iss": MAX_LINK, "oauth_token": MAX_CODE} | dict.fromkeys(
    _ANSWERS, MAX_CODE
)
# A browser takes a cookie of this first word only from this host, over HTTPS.
_SECURE_COOKIE, _COOKIE = "__Host-footfall-flow", "footfall-flow"


@dataclass(frozen=True, slots=True)
class Step:
    """A browser that leaves for the service `name`, or that comes back with an `answer`."""

    name: str
    redirect: str
    state: str
    answer: Mapping[str, str]
    cookie: bytes = b""
    wants_page: bool = False
    proof: OwnerProof = OwnerProof()

    @classmethod
    def parse(cls, request: RawRequest, service: Service) -> "Step":
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
            name or "", redirect or "", flow, answer if is_back else {},
            request.headers.get(b"cookie", b""),
            b"text/html" in request.headers.get(b"accept", b""),
        )  # fmt: skip

    @classmethod
    def parse_addition(cls, request: RawRequest, service: Service) -> "Step":
        form = Form(request.fields)
        name, redirect = form.text("type", MAX_NAME), form.text("redirect", MAX_LINK)
        proof = parse_proof(form)
        form.done()
        return cls(name or "", redirect or "", "", {}, proof=proof)


async def oauth(service: Service, parsed: Step, caller: Caller) -> Response:
    """On to the other service, or back from it. Who is logged in adds it to their account."""
    targets = service.providers.targets
    target = ""
    try:
        if not parsed.answer:
            # No address has a password in it: this adds only if the log-in itself is proof.
            adds = OwnerProof() if caller.viewer.account else None
            address, state = await identities.begin(
                service, parsed.name, parsed.redirect, caller, adds=adds
            )
            return _sent(address, _cookie(targets, state))
        if not _is_this_browsers(targets, parsed):
            raise FlowExpired()
        flow = await identities.take(service, parsed.state)
        target = flow.target
        arrival = await identities.arrive(service, flow, parsed.answer, caller)
        return _sent(await _end(service, target, arrival, caller), _cookie(targets, ""))
    except ServiceError as error:
        if not parsed.wants_page or not service.providers.is_any or isinstance(error, BadRequest):
            raise
        # Somebody looks at this: our page says it in words.
        service.metrics.refused.add(type(error).__name__)
        page = target.partition("#")[0] if targets.is_own(target) else _page(targets, target)
        return _sent(f"{page}#problem={type(error).__name__}", _cookie(targets, ""))


async def add(service: Service, parsed: Step, caller: Caller) -> Response:
    """Where a browser goes so that a service is added to the account that is logged in."""
    if caller.viewer.account is None:
        raise Denied()
    address, state = await identities.begin(
        service, parsed.name, parsed.redirect, caller, adds=parsed.proof
    )
    body = envelope.enveloped({"url": address})
    return Response(200, body, [_cookie(service.providers.targets, state)])


async def _end(service: Service, target: str, arrival: identities.Arrival, caller: Caller) -> str:
    """The address at which a log-in ends."""
    targets = service.providers.targets
    if not arrival.ticket:
        return target or f"{targets.server_url}/ui/profile"
    is_page_of_ours = targets.is_own(target) and not _is_log_in(targets, target)
    if is_page_of_ours and not arrival.needs_code:
        # The reference's own front-end reads it there.
        _, token = await identities.redeem(service, arrival.ticket, "", caller)
        return f"{target}{'&' if '?' in target else '?'}token={token}"
    return f"{_page(targets, target)}#ticket={arrival.ticket}" + "&code" * arrival.needs_code


def _page(targets: Targets, target: str) -> str:
    """Our page to log in on, which hands the log-in on to where it was asked for."""
    if _is_log_in(targets, target):
        return target.partition("#")[0]
    asked = urlencode({"for": origin_of(target), "redirect": target}) if target else ""
    return f"{targets.server_url}/ui/login" + f"?{asked}" * bool(asked)


def _is_log_in(targets: Targets, target: str) -> bool:
    return target.partition("#")[0].partition("?")[0] == f"{targets.server_url}/ui/login"


def _sent(address: str, cookie: tuple[bytes, bytes]) -> Response:
    headers = [(b"location", address.encode()), (b"cache-control", b"no-store"), cookie]
    return Response(302, b"", headers)


def _cookie(targets: Targets, state: str) -> tuple[bytes, bytes]:
    """What keeps the state in this browser; "" ends it."""
    is_secure = targets.server_url.startswith("https:")
    lasts = identities.FLOW_SECONDS if state else 0
    value = (
        f"{_SECURE_COOKIE if is_secure else _COOKIE}={state}; Path=/; Max-Age={lasts}; HttpOnly; "
        f"SameSite=Lax{'; Secure' if is_secure else ''}"
    )
    return b"set-cookie", value.encode()


def _is_this_browsers(targets: Targets, parsed: Step) -> bool:
    name = _SECURE_COOKIE if targets.server_url.startswith("https:") else _COOKIE
    pairs = parsed.cookie.decode("latin-1").replace(",", ";").split(";")
    kept = [each.strip().removeprefix(f"{name}=") for each in pairs if f"{name}=" in each]
    # Of two, somebody who has a part of this host's domain has set one.
    return len(kept) == 1 and hmac.compare_digest(kept[0].encode(), parsed.state.encode())

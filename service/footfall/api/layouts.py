"""The layouts: how a request says who sends it and what it gets back, under each prefix.

Everything is wrapped under /api; the exact paths without prefix are older and have shapes of their
own. Both are for pages of other sites, and whoever is logged in there sends a token. /ui/api is for
this service's own pages, where the browser has the token as a cookie.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.types import Scope

from ..domain.devices import KNOWN_SECONDS
from ..domain.two_factor import qr_code
from ..errors import Forbidden
from ..http import csrf
from ..http.client import Headers, is_allowed, is_own_page, token_of
from ..http.fetch_metadata import is_sent_elsewhere
from ..http.params import RawRequest
from ..http.policy import Policy
from ..http.response import COMMON, PRIVATE, Reply, Response, answer_of
from ..http.response import Headers as Lines


@dataclass(frozen=True, slots=True)
class Layout:
    """For pages of all sites that may call. `is_bare`: without an envelope where a row says so."""

    is_bare: bool = False
    common: Lines = COMMON

    def admit(self, scope: Scope, headers: Headers, policy: Policy) -> None:
        """Raises Forbidden."""
        if not (is_allowed(headers, policy.domains) or is_own_page(headers, policy)):
            raise Forbidden()

    def token(self, scope: Scope, headers: Headers, policy: Policy) -> str:
        """What says who sends the request; "" for nobody."""
        return token_of(headers)

    def is_sent_elsewhere(self, method: str, headers: Headers) -> bool:
        """May a page of another site have made the browser send it?"""
        return is_sent_elsewhere(method, headers)

    def finish(
        self, data: Any, asked: RawRequest, scope: Scope, headers: Headers, policy: Policy
    ) -> tuple[Any, Lines]:
        """What is said of an operation's `data`, and in which headers more."""
        return data, ()

    def answer(self, reply: Reply, headers: Headers, extra: Lines) -> Response:
        """What was said as a whole answer, or that the client has it already."""
        return answer_of(reply, headers.get(b"if-none-match", b""))


class OwnPages(Layout):
    """For this service's own pages. A log-in is a cookie there, and no script has its token."""

    __slots__ = ()

    def admit(self, scope: Scope, headers: Headers, policy: Policy) -> None:
        csrf.check_csrf(scope["method"], headers, scope, policy)

    def token(self, scope: Scope, headers: Headers, policy: Policy) -> str:
        return csrf.session_cookie(headers, scope, policy)

    def is_sent_elsewhere(self, method: str, headers: Headers) -> bool:
        # It was not admitted otherwise.
        return False

    def finish(
        self, data: Any, asked: RawRequest, scope: Scope, headers: Headers, policy: Policy
    ) -> tuple[Any, Lines]:
        if scope["operation"] == "token_second_factor" and "otpauth_url" in data:
            return data | {"qr": qr_code(data["otpauth_url"])}, ()
        if scope["operation"] == "token_log_out":
            return data, csrf.set_cookie(csrf.SESSION_COOKIE, "", headers, scope, policy)
        if scope["operation"] != "token_log_in":
            return data, ()
        lasts = policy.session_seconds if asked.fields.get("remember") is True else 0
        keeping = csrf.set_cookie(
            csrf.SESSION_COOKIE, data["token"], headers, scope, policy, lasts_seconds=lasts
        )
        # Whoever leaves no log-in behind leaves this only until the browser is closed, too.
        telling = csrf.set_cookie(
            csrf.DEVICE_COOKIE,
            data["device"],
            headers,
            scope,
            policy,
            lasts_seconds=lasts and KNOWN_SECONDS,
        )
        data = {name: value for name, value in data.items() if name != "device"}
        # A page of another site has asked for the log-in, and is handed it.
        is_handed = asked.fields.get("hand") is True
        return data if is_handed else {**data, "token": None}, [*keeping, *telling]

    def answer(self, reply: Reply, headers: Headers, extra: Lines) -> Response:
        return Response(200, reply[0], extra, self.common)


API, BARE, OWN = Layout(), Layout(is_bare=True), OwnPages(common=PRIVATE)
# Prefix -> the layout of an exact path, and that of the path with more behind it.
LAYOUTS: Mapping[str, tuple[Layout, Layout]] = {
    "/api": (API, API),
    "": (BARE, API),
    "/ui/api": (OWN, OWN),
}

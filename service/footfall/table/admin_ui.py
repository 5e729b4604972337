"""The API variant of the admin UI: a login is a cookie, and no script has its token.

Responses are for one person, so nothing caches them.
"""

from dataclasses import replace
from typing import Any

from starlette.types import Scope

from ..http import cors
from ..http.client import Headers
from ..http.csrf import DEVICE_COOKIE, SESSION_COOKIE, check_csrf, session_cookie, set_cookie
from ..http.policy import Policy
from ..http.response import PRIVATE, Reply, Response, answer_of
from ..http.response import Headers as Lines
from ..render.qr import qr_code
from .answers import Answer, NewSession
from .variants import WALINE


def _admit(scope: Scope, headers: Headers, policy: Policy) -> None:
    check_csrf(scope["method"], headers, scope, policy)


def _token(scope: Scope, headers: Headers, policy: Policy) -> str:
    return session_cookie(headers, scope, policy)


async def _finish(
    answer: Answer, scope: Scope, headers: Headers, policy: Policy
) -> tuple[Any, Lines]:
    data, lines = answer.data, answer.headers
    if answer.qr_text:
        data = data | {"qr": qr_code(answer.qr_text)}
    session = answer.session
    if session is None:
        return data, lines
    cookies = await _cookies(session, headers, scope, policy)
    if session.token:
        data = data | {"token": session.token if session.is_handed else None}
    return data, [*lines, *cookies]


async def _cookies(session: NewSession, headers: Headers, scope: Scope, policy: Policy) -> Lines:
    lasts = policy.session_seconds if session.is_remembered else 0
    kept = set_cookie(SESSION_COOKIE, session.token, headers, scope, policy, lasts_seconds=lasts)
    if session.device is None:
        return kept
    # A login that is not remembered leaves this only until the browser is closed, too.
    hint = set_cookie(
        DEVICE_COOKIE,
        await session.device(),
        headers,
        scope,
        policy,
        lasts_seconds=session.device_seconds if lasts else 0,
    )
    return [*kept, *hint]


def _respond(reply: Reply | Response, headers: Headers, extra: Lines) -> Response:
    answer = answer_of(reply, b"")
    return replace(answer, tag=b"", extra=[*answer.extra, *extra])


ADMIN_UI = replace(
    WALINE,
    admit=_admit,
    token=_token,
    door="panel",
    # It was not admitted otherwise.
    is_sent_elsewhere=lambda method, headers: False,
    headers=PRIVATE,
    preflight=cors.refused,
    finish=_finish,
    respond=_respond,
)

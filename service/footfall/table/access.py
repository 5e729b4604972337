"""Lines of the access log: for the fast path, for ASGI, and for requests rejected before.

Each class here wraps another one, and only with ACCESS_LOG: without it no code of this module runs
in any request.
"""

from time import monotonic
from typing import cast

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import ServiceError
from ..http.client import Headers, headers_of
from ..http.policy import Policy
from ..http.protocol import HttpProtocol
from ..http.response import Reply, Response
from ..telemetry.access_log import AccessLog, Answer, RequestDetails
from ..telemetry.metrics import OTHER
from .fast import FastRequest
from .fast_cycle import FastCycle
from .middleware import route_of


class LoggedRequests:
    """The application, with a line for each request that it answers; middleware.py notes with which
    status."""

    def __init__(self, app: ASGIApp, log: AccessLog, policy: Policy) -> None:
        self._app = app
        self._log = log
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, size = monotonic(), 0

        async def measure_and_send(message: Message) -> None:
            nonlocal size
            size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, measure_and_send)
        finally:
            headers = headers_of(scope["headers"])
            address = self._policy.proxies.address_of(scope.get("client"), headers)
            asked = _request(address, scope["method"].encode(), scope["raw_path"], headers)
            status, sent = scope.get("status", 0), size if scope["method"] != "HEAD" else 0
            self._log.write(asked, Answer(route_of(scope), status, sent, monotonic() - started))


def logged_protocol(base: type[HttpProtocol], log: AccessLog) -> type[HttpProtocol]:
    """The protocol class with a line for each fast request, and for each rejected one."""

    class LoggedProtocol(base):  # type: ignore[misc, valid-type]
        cycle_type = _logged_cycle(cast(type[FastCycle], base.cycle_type), log)
        _refused: RequestDetails | None = None

        def refuse(self, error: ServiceError) -> None:
            # Before its URL, nothing of a request is known.
            if not self.is_between and self.url:
                self._refused = _read_by(self)
            super().refuse(error)

        def _answer_error(self, error: ServiceError) -> Response:
            answer: Response = super()._answer_error(error)
            seconds = monotonic() - self.since if self._refused else 0.0
            request = self._refused or RequestDetails(_peer(self))
            log.write(request, Answer(OTHER, answer.status, len(answer.body), seconds))
            return answer

    return LoggedProtocol


def _logged_cycle(base: type[FastCycle], log: AccessLog) -> type[FastCycle]:
    class LoggedCycle(base):  # type: ignore[misc, valid-type]
        __slots__ = ("_asked",)

        def take(self, request: FastRequest, headers: Headers) -> None:
            super().take(request, headers)
            # Now, since the connection may read its next request before this one is answered.
            self._asked = _read_by(self.connection)

        def answer(self, reply: Reply | Response) -> int:
            status: int = super().answer(reply)
            body = reply.body if isinstance(reply, Response) else reply[0]
            size = 0 if status in (0, 304) else len(body)
            answer = Answer(
                self.request.operation.route.name, status, size, monotonic() - self.since
            )
            log.write(self._asked, answer)
            return status

    return LoggedCycle


def _read_by(connection: HttpProtocol) -> RequestDetails:
    """The request that a connection has read last, as far as it has."""
    headers = headers_of(connection.all_headers())
    address = connection.policy.proxies.address_of(connection.client, headers)
    return _request(address, connection.parser.get_method(), connection.url, headers)


def _peer(connection: HttpProtocol) -> str:
    return connection.client[0] if connection.client else ""


def _request(address: str, method: bytes, url: bytes, headers: Headers) -> RequestDetails:
    id, agent = headers.get(b"x-request-id", b""), headers.get(b"user-agent", b"")
    return RequestDetails(address, method, url, id, agent)

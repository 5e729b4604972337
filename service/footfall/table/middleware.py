"""The middleware around all routes: it joins leading slashes, counts each response, and logs slow
ones, with the proxy's request id.

Applications put their name in metrics into the scope, as `counted_as`, and their error, as
`refused`; the response's status is stored there, as `status`, for the access log. The fast path
does its own counting, and http/connection.py that of requests it rejects.
"""

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..process.process import Process
from ..telemetry import pauses
from ..telemetry.logs import SlowLog, name_request
from ..telemetry.metrics import OTHER
from .sending import send_failure

PREFLIGHT = "preflight"
# Routes that are not operations.
ROUTES = ("page", "static", "unsubscribe", "decide", "health", "metrics", PREFLIGHT)
# Paths that proxies hide from visitors.
FOR_OPERATORS = frozenset({"/metrics", "/livez", "/readyz", "/version"})
# Health checks wait for an unreachable Redis, unlike other requests.
LOOKS = ("health", "metrics")


def route_of(scope: Scope) -> str:
    """The route of a request that was answered, as metrics and the access log name it."""
    if scope["method"] == "OPTIONS":
        return PREFLIGHT
    route: str = scope.get("counted_as", OTHER)
    return route


class CountedRequests:
    """An application whose answers are counted."""

    def __init__(self, app: ASGIApp, process: Process, slow_seconds: float) -> None:
        self._app = app
        self._metrics = process.metrics
        self._renderer = process.renderer
        self._slow = SlowLog(logging.getLogger(__name__), slow_seconds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        if scope["path"].startswith("//"):
            # Clients send this if their server's address ends in a slash.
            scope["path"] = "/" + scope["path"].lstrip("/")
        if scope["path"] in FOR_OPERATORS and scope["raw_path"] != scope["path"].encode():
            # The rule by which a proxy hides the path does not match another spelling.
            scope["path"] = scope["raw_path"].decode("latin-1")
        started = time.perf_counter()
        pauses.start()
        name_request(dict(scope["headers"]).get(b"x-request-id", b""))

        async def count_and_send(message: Message) -> None:
            if "status" not in scope:
                scope["status"] = message["status"]
                self._count(scope, message["status"], started)
            await send(message)

        try:
            await self._app(scope, receive, count_and_send)
        except Exception as error:
            if "status" in scope:
                raise
            await send_failure(scope, count_and_send, error)

    def _count(self, scope: Scope, status: int, started: float) -> None:
        route = route_of(scope)
        took = time.perf_counter() - started - pauses.paused()
        self._metrics.routes[route].took(took, status)
        if refused := scope.get("refused"):
            self._metrics.refused.add(refused)
        if took <= self._slow.seconds or route in LOOKS:
            return
        if not self._renderer.was_loading(started):
            self._slow.write(route, took, route=route, status=status)

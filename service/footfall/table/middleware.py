"""The middleware around all routes: it takes several slashes in front for one, counts each answer,
and logs those that were slow, with the id that the proxy gave the request.

What answers puts its name in metrics into the scope, as `counted_as`, and the error that it tells
of, as `refused`; the status of the answer is noted here, as `status`, for the access log. The fast
path counts for itself, and so does http/connection.py what it refuses.
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
# The routes of what is not an operation.
ROUTES = ("page", "static", "unsubscribe", "decide", "health", "metrics", PREFLIGHT)
# By these somebody looks at the service. They wait for a Redis that is unreachable, as nobody else
# does.
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
            # Clients ask so whose address of the server ends in a slash.
            scope["path"] = "/" + scope["path"].lstrip("/")
        began = time.perf_counter()
        pauses.begin()
        name_request(dict(scope["headers"]).get(b"x-request-id", b""))

        async def count_and_send(message: Message) -> None:
            if "status" not in scope:
                scope["status"] = message["status"]
                self._count(scope, message["status"], began)
            await send(message)

        try:
            await self._app(scope, receive, count_and_send)
        except Exception as error:
            if "status" in scope:
                raise
            await send_failure(scope, count_and_send, error)

    def _count(self, scope: Scope, status: int, began: float) -> None:
        route = route_of(scope)
        took = time.perf_counter() - began - pauses.paused()
        self._metrics.routes[route].took(took, status)
        if refused := scope.get("refused"):
            self._metrics.refused.add(refused)
        if took <= self._slow.seconds or route in LOOKS:
            return
        if not self._renderer.was_loading(began):
            self._slow.write(route, took, route=route, status=status)

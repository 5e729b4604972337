"""Spans of requests: one for each, which continues the client's `traceparent`."""

from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..http.client import headers_of, server_address
from ..http.policy import Policy

TRACER = trace.get_tracer("footfall")
CALLERS = TraceContextTextMapPropagator()


class TracedRequests:
    """The application, with a server span for each request."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._start_span(scope) as span:

            async def send_and_note(message: Message) -> None:
                if message["type"] == "http.response.start":
                    _note(span, message["status"])
                await send(message)

            await self._app(scope, receive, send_and_note)
            if route := getattr(scope.get("route"), "path", ""):
                span.set_attribute("http.route", route)
                span.update_name(scope.get("operation", f"{scope['method']} {route}"))

    def _start_span(self, scope: Scope) -> Any:
        headers = headers_of(scope["headers"])
        carrier = {
            name: headers.get(name.encode(), b"").decode("latin-1") for name in CALLERS.fields
        }
        scheme = server_address(scope, self._policy).partition("://")[0]
        # Without the query, which may have a comment's email address.
        attributes = {
            "http.request.method": scope["method"],
            "url.path": scope["path"],
            "url.scheme": scheme or scope["scheme"],
        }
        # In an empty context: the connection's last request may have started this task.
        caller = CALLERS.extract(carrier, Context())
        return TRACER.start_as_current_span(scope["method"], caller, SpanKind.SERVER, attributes)


def _note(span: Span, status: int) -> None:
    span.set_attribute("http.response.status_code", status)
    if status >= 500:
        span.set_attribute("error.type", str(status))
        span.set_status(StatusCode.ERROR)

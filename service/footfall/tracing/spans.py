"""Spans of requests, and of what they ask Redis.

A request has a server span, which continues the client's `traceparent`. Commands that are sent to a
Redis server together have a client span, until the reply is as durable as DURABILITY says: a child
of the request's, or for a batch of several requests one with a link to each.

The event loop calls back in the context in which something else began long ago, so a variable of
our own has the requests that commands are sent for, and their replies are told in that context.
"""

from collections.abc import Sequence
from contextvars import ContextVar, copy_context
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..driver.batch import Batch
from ..driver.connection import Command, CommandSender, Done
from ..driver.stats import CommandStats
from ..errors import StoreUnavailable
from ..http.client import headers_of, server_address
from ..http.policy import Policy

TRACER = trace.get_tracer("footfall")
CALLERS = TraceContextTextMapPropagator()

# The requests that commands are sent for now.
_served: ContextVar[tuple[SpanContext, ...]] = ContextVar("served", default=())


class TracedRequests:
    """The application, with a server span for each request."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = headers_of(scope["headers"])
        told = {name: headers.get(name.encode(), b"").decode("latin-1") for name in CALLERS.fields}
        scheme = server_address(scope, self._policy).partition("://")[0]
        # Without the query, which may have a comment's mail address.
        attributes = {
            "http.request.method": scope["method"],
            "url.path": scope["path"],
            "url.scheme": scheme or scope["scheme"],
        }
        # In an empty context: the connection's last request may have started this task.
        caller = CALLERS.extract(told, Context())
        with TRACER.start_as_current_span(
            scope["method"], caller, SpanKind.SERVER, attributes
        ) as span:

            async def send_and_note(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= 500:
                        _failed(span, str(message["status"]))
                await send(message)

            _served.set((span.get_span_context(),))
            await self._app(scope, receive, send_and_note)
            if route := getattr(scope.get("route"), "path", ""):
                span.set_attribute("http.route", route)
                span.update_name(scope.get("operation", f"{scope['method']} {route}"))


class TracedSender:
    """A CommandSender to one Redis server, with a client span for each send."""

    def __init__(self, sender: CommandSender, stats: CommandStats) -> None:
        self._sender = sender
        self._stats = stats
        self.close = sender.close

    def ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None:
        # Each once, since a request may join a batch twice.
        requests = {each.span_id: each for each in _served.get()}
        sampled = [each for each in requests.values() if each.trace_flags.sampled]
        span: Span = trace.INVALID_SPAN
        if sampled or not requests:
            span = self._start_span(commands, sampled)
        here = copy_context()

        def arrived(replies: list[Any] | StoreUnavailable) -> None:
            all = replies if isinstance(replies, list) else [replies]
            for error in (each for each in all if isinstance(each, Exception)):
                _failed(span, type(error.__cause__ or error).__name__)
            span.end()
            # Commands that the callback sends are for the same requests.
            here.run(done, replies)

        self._sender.ask(commands, arrived, deadline)

    def _start_span(self, commands: Sequence[Command], requests: Sequence[SpanContext]) -> Span:
        name = " ".join(sorted({self._stats.name(each) for each in commands}))
        attributes = {"db.system.name": "redis", "db.operation.name": name}
        parent, links = Context(), [Link(each) for each in requests]
        if len(requests) == 1:
            parent, links = trace.set_span_in_context(trace.NonRecordingSpan(requests[0])), []
        return TRACER.start_span(name, parent, SpanKind.CLIENT, attributes, links)


def _failed(span: Span, kind: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)


class TracedBatch(Batch):
    """A batch that knows which requests it is for."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._requests: list[SpanContext] = []

    def _joined(self, counters: int = 0) -> None:
        self._requests += _served.get()
        super()._joined(counters)

    def _leave(self) -> None:
        requests, self._requests = self._requests, []
        here = copy_context()
        here.run(_served.set, tuple(requests))
        here.run(super()._leave)

"""Spans of requests, and of the commands that they send to Redis.

A request has a server span, which continues the client's `traceparent`. Commands that are sent to a
Redis server together have a client span, which ends when the reply is as durable as DURABILITY
says. If they are for one sampled request, their span is its child; if for several, it has no parent
and a link to each of them.

Callbacks of the event loop run in the context in which something else began long ago, so
OpenTelemetry's current span would often be that of another request. A variable of our own has the
requests that commands are sent for.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.propagators.textmap import Getter
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..api.hot import HotRequest
from ..api.hot_cycle import HotCycle
from ..driver.batch import Batch
from ..driver.connection import Command, CommandSender, Done
from ..driver.stats import CommandStats
from ..errors import StoreUnavailable
from ..http import client
from ..http.client import server_address
from ..http.policy import Policy
from ..http.response import Reply, Response

TRACER = trace.get_tracer("footfall")
CALLERS = TraceContextTextMapPropagator()
METHODS = {"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"}

Attributes = dict[str, AttributeValue]
Headers = list[tuple[bytes, bytes]]

# The requests that commands are sent for now.
_served: ContextVar[tuple[SpanContext, ...]] = ContextVar("served", default=())


@contextmanager
def _serving(requests: tuple[SpanContext, ...]) -> Iterator[None]:
    token = _served.set(requests)
    try:
        yield
    finally:
        _served.reset(token)


class TracedRequests:
    """The application, with a server span for each request."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"] if scope["method"] in METHODS else "HTTP"
        # In an empty context: the connection's last request may have started this task.
        caller = CALLERS.extract(scope["headers"], Context(), _HEADERS)
        with TRACER.start_as_current_span(
            method, caller, SpanKind.SERVER, attributes=_attributes(scope, self._policy)
        ) as span:

            async def send_and_note(message: Message) -> None:
                if message["type"] == "http.response.start":
                    _answered(span, message["status"])
                await send(message)

            with _serving((span.get_span_context(),)):
                await self._app(scope, receive, send_and_note)
            if route := getattr(scope.get("route"), "path", ""):
                span.set_attribute("http.route", route)
                span.update_name(scope.get("operation", f"{method} {route}"))


class TracedCycle(HotCycle):
    """A hot request with its server span."""

    __slots__ = ("_requests", "_span")

    def accepts(self, request: HotRequest, headers: client.Headers) -> bool:
        if not super().accepts(request, headers):
            return False
        scope = self.connection.scope_read()
        caller = CALLERS.extract(scope["headers"], Context(), _HEADERS)
        attributes = {**_attributes(scope, self.connection.policy), "http.route": scope["path"]}
        self._span = TRACER.start_span(request.route.name, caller, SpanKind.SERVER, attributes)
        self._requests = (self._span.get_span_context(),)
        return True

    def start(self) -> None:
        with _serving(self._requests):
            super().start()

    def paid(self, waits: list[int] | Exception) -> None:
        # The batch that took the tokens was for other requests, too.
        with _serving(self._requests):
            super().paid(waits)

    def arrived(self, numbers: list[int] | Exception) -> None:
        with _serving(self._requests):
            super().arrived(numbers)

    def answer(self, reply: Reply | Response) -> int:
        status = super().answer(reply)
        if status:
            _answered(self._span, status)
        self._span.end()
        return status


def _attributes(scope: Scope, policy: Policy) -> Attributes:
    """The attributes of a request. Without its query, which may have a comment's mail address."""
    attributes: Attributes = {
        "http.request.method": scope["method"],
        "url.path": scope["path"],
        "url.scheme": scope["scheme"],
        "network.protocol.version": scope["http_version"],
    }
    if scope["method"] not in METHODS:
        attributes["http.request.method"] = "_OTHER"
        attributes["http.request.method_original"] = scope["method"]
    address = server_address(scope, policy)
    if found := re.fullmatch(r"(https?)://(\[.*\]|[^:]+)(?::(\d{1,5}))?", address):
        attributes["url.scheme"], attributes["server.address"] = found[1], found[2].strip("[]")
        if found[3]:
            attributes["server.port"] = int(found[3])
    return attributes


def _answered(span: Span, status: int) -> None:
    span.set_attribute("http.response.status_code", status)
    if status >= 500:
        span.set_attribute("error.type", str(status))
        span.set_status(StatusCode.ERROR)


class _Headers(Getter[Headers]):
    def get(self, carrier: Headers, key: str) -> list[str] | None:
        name = key.lower().encode()
        return [value.decode("latin-1") for each, value in carrier if each == name] or None

    def keys(self, carrier: Headers) -> list[str]:
        return [name.decode("latin-1") for name, _ in carrier]


_HEADERS = _Headers()


class TracedSender:
    """A CommandSender to one Redis server, with a client span for each send."""

    def __init__(self, sender: CommandSender, stats: CommandStats) -> None:
        self._sender = sender
        self._stats = stats

    def ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None:
        requests = _served.get()
        span = self._start_span(commands, requests)

        def arrived(replies: list[Any] | StoreUnavailable) -> None:
            _ended(span, replies)
            # Commands that the callback sends are for the same requests.
            with _serving(requests):
                done(replies)

        self._sender.ask(commands, arrived, deadline)

    async def close(self) -> None:
        await self._sender.close()

    def _start_span(self, commands: Sequence[Command], requests: Sequence[SpanContext]) -> Span:
        # Unique by id, since a request may join a batch twice.
        by_id = {each.span_id: each for each in requests if each.trace_flags.sampled}
        sampled = [*by_id.values()]
        if requests and not sampled:
            return trace.INVALID_SPAN
        names = {self._stats.name(each) for each in commands}
        name = names.pop() if len(names) == 1 else ""
        attributes: Attributes = {"db.system.name": "redis"}
        if len(commands) > 1:
            name = f"PIPELINE {name}".rstrip()
            attributes["db.operation.batch.size"] = len(commands)
        attributes["db.operation.name"] = name
        parent, links = Context(), [Link(each) for each in sampled]
        if len(sampled) == 1:
            (request,), links = sampled, []
            parent = trace.set_span_in_context(trace.NonRecordingSpan(request), parent)
        return TRACER.start_span(name, parent, SpanKind.CLIENT, attributes, links)


def _ended(span: Span, replies: list[Any] | StoreUnavailable) -> None:
    if isinstance(replies, StoreUnavailable):
        span.set_attribute("error.type", type(replies.__cause__ or replies).__name__)
        span.set_status(StatusCode.ERROR)
    elif error := next((each for each in replies if isinstance(each, Exception)), None):
        # The first word of a Redis error is its code.
        kind = str(error).partition(" ")[0]
        span.set_attributes({"error.type": kind, "db.response.status_code": kind})
        span.set_status(StatusCode.ERROR)
    span.end()


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
        with _serving(tuple(requests)):
            super()._leave()

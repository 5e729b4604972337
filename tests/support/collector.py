"""An OpenTelemetry collector for tests: it takes OTLP over HTTP and keeps the spans."""

import contextlib
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Sent
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from .servers import wait_until


@dataclass(frozen=True)
class Span:
    name: str
    kind: str
    trace: str
    id: str
    parent: str
    is_error: bool
    attributes: dict[str, Any] = field(hash=False)
    # The attributes of the process that sent it.
    resource: dict[str, Any] = field(hash=False)


@dataclass
class Collector:
    url: str
    spans: list[Span] = field(default_factory=list)

    def wait(self, number: int = 1, **wanted: Any) -> list[Span]:
        """Wait for `number` spans with these values, and return all of them."""

        def found() -> list[Span]:
            return [
                span
                for span in tuple(self.spans)
                if all(getattr(span, name) == value for name, value in wanted.items())
            ]

        wait_until(lambda: len(found()) >= number, f"{number} spans with {wanted}")
        return found()

    def take(self, body: bytes) -> None:
        for resource_span in ExportTraceServiceRequest.FromString(body).resource_spans:
            resource = _values(resource_span.resource.attributes)
            for scope in resource_span.scope_spans:
                self.spans += [_span(span, resource) for span in scope.spans]


def _span(sent: Sent, resource: dict[str, Any]) -> Span:
    return Span(
        sent.name,
        Sent.SpanKind.Name(sent.kind).removeprefix("SPAN_KIND_"),
        sent.trace_id.hex(),
        sent.span_id.hex(),
        sent.parent_span_id.hex(),
        sent.status.code == Status.STATUS_CODE_ERROR,
        _values(sent.attributes),
        resource,
    )


def _values(pairs: Iterable[KeyValue]) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, str(pair.value.WhichOneof("value"))) for pair in pairs}


@contextlib.contextmanager
def collecting() -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            collector.take(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector = Collector(f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield collector
        server.shutdown()

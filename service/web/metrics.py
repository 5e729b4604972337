"""GET /metrics: how this process is doing and what is stored, in Prometheus's text format.

The process's own figures are read when they are asked for and cost nothing before. How much is
stored is a question to Redis, put once a minute at most and only if somebody asks: a scrape waits a
moment for the answer, then says what is known, and nothing of what is not.

It is for the operator: unlike every other answer, it cannot be read by other sites' pages.
"""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from ..domain.service import Service
from .pages import Page

# Ten times what Redis needs to say how much is stored.
WAIT_SECONDS = 0.25


class Figures(Collector):
    """Reads the live objects whenever it is collected."""

    def __init__(self, service: Service, version: str) -> None:
        self._service = service
        self._version = version

    def collect(self) -> Iterator[Metric]:
        batch = self._service.store.batch
        yield InfoMetricFamily(
            "footfall_build", "What is running, as labels", {"version": self._version}
        )
        yield from self._stored()
        yield CounterMetricFamily("footfall_batches", "Batches sent to Redis", batch.sent)
        yield GaugeMetricFamily(
            "footfall_batch_requests", "Requests in the largest batch since the start",
            batch.largest,
        )  # fmt: skip
        yield GaugeMetricFamily(
            "footfall_batch_waiting", "Requests that wait for the next batch to leave",
            batch.waiting,
        )  # fmt: skip
        yield GaugeMetricFamily(
            "footfall_kept_pages_bytes", "Bytes of finished pages of comments kept in memory",
            self._service.pages.bytes,
        )  # fmt: skip

    def _stored(self) -> Iterator[Metric]:
        size = self._service.store.scale.reading
        if size is None:
            return
        for name, kind in (("counter", size.counters), ("comment", size.comments)):
            yield GaugeMetricFamily(f"footfall_{name}s", f"Stored {name}s", kind.number)
            if kind.bytes_each:
                yield GaugeMetricFamily(
                    f"footfall_{name}_bytes",
                    f"Bytes of Redis's memory that one {name} takes, with its share of every key",
                    kind.bytes_each,
                )


class Metrics:
    """A scrape, as an ASGI application, with a registry of its own."""

    def __init__(self, service: Service, version: str) -> None:
        self._scale = service.store.scale
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(Figures(service, version))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._scale.refresh(WAIT_SECONDS)
        body = generate_latest(self._registry)
        headers = [
            (b"content-type", CONTENT_TYPE_PLAIN_0_0_4.encode()),
            (b"content-length", b"%d" % len(body)),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        has_body = scope["method"] != "HEAD"
        await send({"type": "http.response.body", "body": body if has_body else b""})


def metrics_route(service: Service, version: str) -> BaseRoute:
    return Route("/metrics", Page(Metrics(service, version)))

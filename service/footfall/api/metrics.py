"""GET /metrics: how the service is doing and what is stored, in Prometheus's text format.

Whichever worker answers speaks for all of them (metrics.py). How much is stored is a question to
Redis, put once a minute at most and only if somebody asks: a scrape waits a moment for the answer,
then says what is known, and nothing of what is not.

It is for the operator: unlike every other answer, it cannot be read by other sites' pages.
"""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from ..domain.service import Service
from ..telemetry.metrics import Histogram
from .site import Page

# Ten times what Redis needs to say how much is stored.
WAIT_SECONDS = 0.25


class Figures(Collector):
    """Reads the live objects whenever it is collected."""

    def __init__(self, service: Service, version: str) -> None:
        self._service = service
        self._version = version

    def collect(self) -> Iterator[Metric]:
        show(self._service)
        yield InfoMetricFamily(
            "footfall_build", "What is running, as labels", {"version": self._version}
        )
        yield from self._stored()
        yield from self._answered()
        metrics = self._service.metrics
        yield _histogram(
            "footfall_redis_seconds", "Round trips to Redis, until their last reply",
            metrics.redis_seconds,
        )  # fmt: skip
        yield _histogram(
            "footfall_batch_requests", "Requests that went to Redis together",
            metrics.batch_requests,
        )  # fmt: skip
        for name, text, counter in (
            ("footfall_redis_failures", "Questions to Redis that were not answered",
             metrics.redis_failures),
            ("footfall_connections_refused", "Connections beyond MAX_CONNECTIONS",
             metrics.turned_away),
        ):  # fmt: skip
            yield CounterMetricFamily(name, text, counter.total)
        for name, text, counter in (
            ("footfall_connections", "Connections that are open", metrics.connections),
            ("footfall_batch_waiting", "Requests that wait for the next batch to leave",
             metrics.waiting),
            ("footfall_kept_pages_bytes", "Bytes of finished pages of comments kept in memory",
             metrics.pages_bytes),
        ):  # fmt: skip
            yield GaugeMetricFamily(name, text, counter.total)
        yield from self._findings()

    def _answered(self) -> Iterator[Metric]:
        metrics = self._service.metrics
        requests = CounterMetricFamily(
            "footfall_requests", "Requests that were answered", labels=["route", "status"]
        )
        seconds = HistogramMetricFamily(
            "footfall_request_seconds", "From a request's head until its answer is written",
            labels=["route"],
        )  # fmt: skip
        for name, route in metrics.routes.items():
            for status, number in route.by_status():
                requests.add_metric([name, status], number)
            seconds.add_metric([name], *route.seconds())
        yield requests
        yield seconds
        refused = CounterMetricFamily(
            "footfall_refused", "Requests that were refused, or failed", labels=["reason"]
        )
        for reason, number in metrics.refused.totals().items():
            refused.add_metric([reason], number)
        yield refused

    def _findings(self) -> Iterator[Metric]:
        found = GaugeMetricFamily(
            "footfall_finding", "1 for what is wrong with Redis; /readyz says it in words",
            labels=["code"],
        )  # fmt: skip
        safety = self._service.safety
        for code in safety.codes:
            found.add_metric([code], code in safety.problems)
        yield found

    def _stored(self) -> Iterator[Metric]:
        size = self._service.scale.reading
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


def show(service: Service) -> None:
    """Write down what rises and falls in this worker, for whichever worker is asked."""
    service.metrics.waiting.show(service.waiting())
    service.metrics.pages_bytes.show(service.page_cache.bytes)


def _histogram(name: str, text: str, meter: Histogram) -> HistogramMetricFamily:
    buckets, sum_ = meter.totals()
    return HistogramMetricFamily(name, text, buckets, sum_)


class Metrics:
    """A scrape, as an ASGI application, with a registry of its own."""

    def __init__(self, service: Service, version: str) -> None:
        self._scale = service.scale
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

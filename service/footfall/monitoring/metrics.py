"""GET /metrics in Prometheus's text format: the state of the service, and the amount of stored
data.

Any worker answers for all of them (telemetry/metrics.py). Values in Redis are read with each
scrape; amounts of stored data, at most once a minute. A scrape waits WAIT_SECONDS for all of it
together, and leaves out values that are not known by then. It is made once a second at most, since
it keeps the event loop busy for milliseconds; and routes and errors that never occurred are left
out of it, which would be most of its lines.

It is for the operator, so it has no CORS header: pages of other sites cannot read it.
"""

import asyncio
import math
import os
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

from ..monitoring import vitals
from ..owner.files import Page
from ..site import Site
from ..telemetry.metrics import Histogram
from .processes import Processes, build
from .vitals import Vitals

# Ten times as long as Redis needs for it.
WAIT_SECONDS = 0.25
# Scrapes start so far apart: those that come meanwhile wait for the next one together.
PERIOD_SECONDS = 1.0

_REDIS_FAILURES = "Redis commands without a reply, or rejected"
_EXHAUSTED = "Tenths of a second without a free file descriptor for a connection"
_KEPT_PAGES = "Bytes of comment pages cached in memory"


class Figures(Collector):
    """Reads the service's numbers at each scrape."""

    def __init__(self, site: Site, version: str) -> None:
        self._site = site
        self._version = version
        # Values read for this scrape; none yet.
        self._vitals = Vitals({}, None, None)

    async def refresh(self) -> None:
        """Read what only Redis knows."""
        self._vitals, *_ = await asyncio.gather(
            vitals.read(self._site, WAIT_SECONDS),
            self._site.data.scale.refresh(WAIT_SECONDS),
            self._site.notifications.outbox.refresh(WAIT_SECONDS),
        )

    def collect(self) -> Iterator[Metric]:
        show(self._site)
        yield InfoMetricFamily("footfall_build", "Version, as labels", build(self._version))
        yield from self._stored()
        yield from self._held()
        yield from self._kept()
        yield from self._answered()
        yield from self._asked()
        yield from self._ran()
        yield from self._servers()
        yield from self._findings()
        yield from self._told()

    def _asked(self) -> Iterator[Metric]:
        """The workers' commands to Redis."""
        metrics = self._site.process.metrics
        yield _histogram(
            "footfall_redis_seconds",
            "Round trips to Redis, until their last reply",
            metrics.redis_seconds,
        )
        yield _histogram(
            "footfall_batch_requests", "Requests sent to Redis together", metrics.batch_requests
        )

    def _ran(self) -> Iterator[Metric]:
        """How workers are doing themselves, and what could not be done."""
        metrics = self._site.process.metrics
        for name, text, number in (
            ("redis_failures", _REDIS_FAILURES, metrics.redis_failures),
            ("connections_refused", "Connections beyond MAX_CONNECTIONS", metrics.turned_away),
            ("descriptors_exhausted", _EXHAUSTED, metrics.descriptors_exhausted),
            ("worker_restarts", "Workers that died and were replaced", metrics.worker_restarts),
        ):
            yield CounterMetricFamily(f"footfall_{name}", text, number.total)
        for name, text, gauge in (
            ("connections", "Open connections", metrics.connections),
            ("batch_waiting", "Requests waiting for the next batch", metrics.waiting),
            ("kept_pages_bytes", _KEPT_PAGES, metrics.pages_bytes),
        ):
            yield GaugeMetricFamily(f"footfall_{name}", text, gauge.total)
        yield _histogram(
            "footfall_event_loop_lag_seconds",
            "Delay of a worker's periodic tasks",
            metrics.loop_lag,
        )

    def _told(self) -> Iterator[Metric]:
        site = self._site
        deliveries = CounterMetricFamily(
            "footfall_deliveries", "Attempted notifications", labels=["outcome"]
        )
        for outcome, number in site.process.metrics.deliveries.totals().items():
            deliveries.add_metric([outcome.replace(" ", "_")], number)
        yield deliveries
        depth = site.notifications.outbox.reading
        if not site.notifications.outbox.is_on or depth is None:
            return
        tasks = GaugeMetricFamily("footfall_outbox_tasks", "Queued notifications", labels=["state"])
        for state in ("waiting", "later", "undelivered"):
            tasks.add_metric([state], getattr(depth, state))
        yield tasks
        yield GaugeMetricFamily(
            "footfall_outbox_seconds",
            "Age of the oldest queued notification",
            depth.age_ms(site.process.clock()) / 1000,
        )

    def _answered(self) -> Iterator[Metric]:
        metrics = self._site.process.metrics
        requests = CounterMetricFamily(
            "footfall_requests", "Answered requests", labels=["route", "status"]
        )
        seconds = HistogramMetricFamily(
            "footfall_request_seconds",
            "Time from a request's head until its response is written",
            labels=["route"],
        )
        for name, route in metrics.routes.items():
            for status, number in route.by_status():
                requests.add_metric([name, status], number)
            buckets, sum_ = route.seconds()
            if buckets[-1][1]:
                seconds.add_metric([name], buckets, sum_)
        yield requests
        yield seconds
        for name, text, label, counter in (
            ("refused", "Requests rejected or failed", "reason", metrics.refused),
            ("limit_refusals", "Refusals by limits of one client", "limit", metrics.limits),
        ):
            family = CounterMetricFamily(f"footfall_{name}", text, labels=[label])
            for value, number in counter.totals().items():
                if number:
                    family.add_metric([value], number)
            yield family

    def _findings(self) -> Iterator[Metric]:
        gauge = GaugeMetricFamily(
            "footfall_finding",
            "1 for each problem with Redis; /readyz explains it",
            labels=["code"],
        )
        for code, is_found in self._site.process.safety.findings().items():
            gauge.add_metric([code], is_found)
        yield gauge

    def _servers(self) -> Iterator[Metric]:
        vitals = self._vitals
        yield GaugeMetricFamily(
            "footfall_redis_up", "1 if every Redis master answers", vitals.redis_answers
        )
        servers = GaugeMetricFamily(
            "footfall_redis_servers", "Redis masters, by the role they report", labels=["role"]
        )
        for role, number in vitals.servers.items():
            servers.add_metric([role], number)
        yield servers

    def _held(self) -> Iterator[Metric]:
        if self._vitals.held:
            waiting, spam = self._vitals.held
            yield GaugeMetricFamily("footfall_comments_waiting", "Pending comments", waiting)
            yield GaugeMetricFamily("footfall_comments_spam", "Spam comments", spam)

    def _kept(self) -> Iterator[Metric]:
        """The safety of data: the last backup, and space on the disk of a private Redis."""
        if backup := self._vitals.backup:
            for name, text, value in (
                (
                    "footfall_backup_last_success_timestamp_seconds",
                    "Time of the last complete backup, in seconds since the epoch; 0: never",
                    backup.at_ms / 1000,
                ),
                (
                    "footfall_backup_last_failure_timestamp_seconds",
                    "Time of the last failed backup, in seconds since the epoch; 0: never",
                    backup.failed_at_ms / 1000,
                ),
                ("footfall_backup_bytes", "Size of the last complete backup", backup.bytes),
            ):
                yield GaugeMetricFamily(name, text, value)
        if room := self._site.process.safety.room:
            yield GaugeMetricFamily(
                "footfall_data_dir_free_bytes", "Free space on the disk of DATA_DIR", room.free
            )
            yield GaugeMetricFamily(
                "footfall_data_dir_size_bytes", "Size of the disk of DATA_DIR", room.total
            )

    def _stored(self) -> Iterator[Metric]:
        used = GaugeMetricFamily(
            "footfall_limit_used_ratio",
            "Share in use of what all clients together may store; 0 without a limit",
            labels=["limit"],
        )
        used.add_metric(["COUNTER_LIMIT"], self._site.counting.quota.used)
        used.add_metric(["COMMENT_LIMIT"], self._site.comments.room.used)
        yield used
        size = self._site.data.scale.reading
        if size is None:
            return
        for name, kind in (("counter", size.counters), ("comment", size.comments)):
            yield GaugeMetricFamily(f"footfall_{name}s", f"Stored {name}s", kind.number)
            if kind.bytes_each:
                yield GaugeMetricFamily(
                    f"footfall_{name}s_mean_bytes",
                    f"Bytes of Redis's memory per {name}, with its share of every key",
                    kind.bytes_each,
                )


def show(site: Site) -> None:
    """Copy this worker's gauges to the memory that all workers share."""
    site.process.metrics.waiting.show(site.data.waiting())
    site.process.metrics.pages_bytes.show(site.comments.page_cache.bytes)


def _histogram(name: str, text: str, meter: Histogram) -> HistogramMetricFamily:
    buckets, sum_ = meter.totals()
    return HistogramMetricFamily(name, text, buckets, sum_)


class Metrics:
    """/metrics as an ASGI application, with a registry of its own."""

    def __init__(self, site: Site, version: str) -> None:
        # A process with this application answers requests: it is a worker.
        site.process.metrics.pid.show(os.getpid())
        self._figures = Figures(site, version)
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self._figures)
        self._processes = Processes(site.process.metrics.pid)
        self._registry.register(self._processes)
        self._started_at = -math.inf
        # The next scrape, until it starts.
        self._next: asyncio.Future[bytes] | None = None

    async def _body(self) -> bytes:
        """All metrics as they are after this request has come: so no total falls, whichever worker
        is asked."""
        if self._next is None:
            self._next = asyncio.ensure_future(self._make())
        # Shielded, so that a request that is cancelled does not cancel it for the others.
        return await asyncio.shield(self._next)

    async def _make(self) -> bytes:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0, self._started_at + PERIOD_SECONDS - loop.time()))
        self._next, self._started_at = None, loop.time()
        await asyncio.gather(self._figures.refresh(), self._processes.refresh())
        return generate_latest(self._registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await self._body()
        headers = [
            (b"content-type", CONTENT_TYPE_PLAIN_0_0_4.encode()),
            (b"content-length", b"%d" % len(body)),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        has_body = scope["method"] != "HEAD"
        await send({"type": "http.response.body", "body": body if has_body else b""})


def metrics_route(site: Site, version: str) -> BaseRoute:
    return Route("/metrics", Page(Metrics(site, version), "metrics"))

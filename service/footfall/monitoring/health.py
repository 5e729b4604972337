"""GET /livez, /readyz and /version: is the process running, can it serve visitors, which version is
it?

/livez does not query Redis: killing this process would not bring Redis back. /readyz queries Redis,
and answers 503 while this process drains. /readyz?for=reads is 503 only while reads would fail:
else a Redis that rejects changes, and that all pods share, would take all of them out of a load
balancer.
"""

import asyncio
import logging
import platform
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import orjson
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from ..http.response import API_VERSION
from ..owner.files import Page
from ..site import Site

log = logging.getLogger(__name__)

# The wait for the depth of the outbox, and the age at which a queued notification is late.
WAIT_SECONDS = 0.25
VACANCY_SECONDS = 1.0
LATE_SECONDS = 300

UNTOLD = "the service cannot tell: see its log"

HealthReport = tuple[int, Mapping[str, Any]]
Report = Callable[[], Awaitable[HealthReport]]
# The query of /readyz.
FOR_READS = b"for=reads"


class Health:
    """Each report is (HTTP status, JSON object).

    With `is_strict` (GUARD=refuse) an unsafe Redis makes the service not ready.
    """

    def __init__(self, site: Site, version: str, *, is_strict: bool = True) -> None:
        self._site = site
        self._version = version
        self._is_strict = is_strict

    async def live(self) -> HealthReport:
        return 200, {"status": "alive"}

    async def ready(self, *, for_reads: bool = False) -> HealthReport:
        """200 if Redis answers, has this service's data, and is as durable as configured; or
        `for_reads`, if it can be read."""
        warnings: list[str] = []
        (trouble, took_ms), vacancy, outbox = await asyncio.gather(
            self._trouble(), self._vacancy(), self._outbox(warnings)
        )
        problems = self._site.process.safety.problems.values()
        reasons = []
        if self._site.process.draining.is_set():
            reasons.append("draining")
        if trouble:
            reasons.append(trouble)
        blocks = (
            problem
            for problem in problems
            if problem.is_outage or (problem.is_fatal and self._is_strict and not for_reads)
        )
        reasons += (block.text for block in blocks if block.text != trouble)
        noticed = self._site.warnings
        minor = [problem.text for problem in problems if problem.text not in reasons]
        return 503 if reasons else 200, outbox | {
            "status": "not ready" if reasons else "ready",
            "reasons": reasons,
            "warnings": minor + vacancy + warnings + noticed,
            "durability": str(self._site.process.safety.durability),
            "redis_ms": took_ms,
        }

    async def _trouble(self) -> tuple[str, float]:
        """Why no request can be answered, and in how many milliseconds Redis replied."""
        started = time.perf_counter()
        trouble = await self._site.process.safety.trouble()
        return trouble, round((time.perf_counter() - started) * 1000, 3)

    async def _vacancy(self) -> list[str]:
        """A warning if there is no administrator, unless Redis does not reply in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(VACANCY_SECONDS):
                if await self._site.accounts.store.lacks_administrator():
                    return [self._site.accounts.rules.vacancy]
        return []

    async def _outbox(self, warnings: list[str]) -> dict[str, Any]:
        """The queued notifications; and a warning if they are late, or fail."""
        outbox = self._site.notifications.outbox
        if not outbox.is_on:
            return {}
        await outbox.refresh(WAIT_SECONDS)
        depth = outbox.reading
        if depth is None:
            return {}
        age_seconds = depth.age_ms(self._site.process.clock()) // 1000
        if age_seconds >= LATE_SECONDS:
            warnings.append(f"notifications have been queued for {age_seconds} seconds")
        if depth.undelivered:
            warnings.append(f"{depth.undelivered} failed: `footfall outbox list` shows why")
        return {"outbox": {**depth._asdict(), "seconds": age_seconds}}

    async def version(self) -> HealthReport:
        return 200, {
            "version": self._version,
            "api": API_VERSION.decode(),
            "python": platform.python_version(),
        }


class _Json:
    """`others` are the reports for a query, in place of `report`."""

    def __init__(self, report: Report, others: Mapping[bytes, Report] | None = None) -> None:
        self._report = report
        self._others = others or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            report = self._others.get(scope["query_string"], self._report)
            status, data = await report()
        except Exception:
            log.exception("the service's health is unknown")
            status, data = 503, {"status": "not ready", "reasons": [UNTOLD], "warnings": []}
        body = orjson.dumps(data)
        headers = [
            (b"content-type", b"application/json; charset=utf-8"),
            (b"content-length", b"%d" % len(body)),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        is_head = scope["method"] == "HEAD"
        await send({"type": "http.response.body", "body": b"" if is_head else body})


def health_routes(health: Health) -> Iterator[BaseRoute]:
    pages = {
        "/livez": _Json(health.live),
        "/readyz": _Json(health.ready, {FOR_READS: partial(health.ready, for_reads=True)}),
        "/version": _Json(health.version),
    }
    for path, page in pages.items():
        yield Route(path, Page(page, "health"))

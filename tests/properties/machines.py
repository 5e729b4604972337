"""Machines of hypothesis that work on a site, each run on a data set of its own."""

import asyncio
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import httpx
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from footfall.asgi import create_app, create_metrics
from footfall.config import Settings
from footfall.driver.client import RedisClient, connect
from footfall.store import Store
from tests.conftest import Clock, Site
from tests.support import extent
from tests.support.servers import RealServer
from tests.support.sites import site_of

STEPS = 25
# Of so many examples one is run without TEST_ALL=1.
EXAMPLES = 1 if extent.ALL else 3
_numbers = count()


def new_prefix() -> str:
    return f"p{next(_numbers)}"


class SiteMachine(RuleBasedStateMachine):
    """`site` is there when `start` was called."""

    redis: RedisClient
    loop: asyncio.AbstractEventLoop
    site: Site

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def start(
        self, environ: Mapping[str, str], viewer_of: Callable[..., Any] | None = None
    ) -> None:
        store = Store(self.redis, prefix=new_prefix(), buckets=256)
        self.run(store.create())
        configured, clock = Settings.from_env(environ), Clock()
        service = site_of(
            configured, store, metrics=create_metrics(), clock=clock, viewer_of=viewer_of
        )
        transport = httpx.ASGITransport(create_app(configured, service))
        client = httpx.AsyncClient(transport=transport, base_url="http://s")
        self.site = Site(service, store, client, clock)

    def teardown(self) -> None:
        if hasattr(self, "site"):
            self.run(self.site.settled())
            self.run(self.site.http.aclose())


def play(kind: type[SiteMachine], server: RealServer, examples: int) -> None:
    """Run so many examples on a server, or a part of them."""
    loop = asyncio.new_event_loop()
    redis = connect(server.url, timeout=5)
    machine = type(kind.__name__, (kind,), {"redis": redis, "loop": loop})
    try:
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=examples // EXAMPLES,
                stateful_step_count=STEPS,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
        loop.run_until_complete(redis.close())
    finally:
        loop.close()

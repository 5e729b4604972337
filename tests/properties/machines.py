"""Machines of hypothesis that work on a site, each run on an empty server."""

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test
from redis import Redis

from footfall.asgi import create_app, create_metrics
from footfall.config import Settings
from footfall.data.store import Store
from footfall.driver.client import RedisClient, connect
from tests.conftest import Clock, Site
from tests.support import extent
from tests.support.servers import program_of, running
from tests.support.sites import site_of

STEPS = 25
# Of so many examples one is run without TEST_ALL=1.
EXAMPLES = 1 if extent.ALL else 20
PREFIX = "p"


class SiteMachine(RuleBasedStateMachine):
    """`site` is there when `start` was called."""

    redis: RedisClient
    admin: Redis
    loop: asyncio.AbstractEventLoop
    site: Site

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def empty(self) -> None:
        """What another example left would be read by every check of this one."""
        self.admin.flushall()

    def start(
        self, environ: Mapping[str, str], viewer_of: Callable[..., Any] | None = None
    ) -> None:
        self.empty()
        store = Store(self.redis, prefix=PREFIX, buckets=256)
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


def play(kind: type[SiteMachine], server: str, examples: int) -> None:
    """Run so many examples on a server of this kind, or a part of them."""
    loop = asyncio.new_event_loop()
    try:
        with (
            tempfile.TemporaryDirectory(prefix="ff") as home,
            running(program_of(server), Path(home) / "s") as own,
            own.admin() as admin,
        ):
            redis = connect(own.url, timeout=60)
            machine = type(kind.__name__, (kind,), {"redis": redis, "admin": admin, "loop": loop})
            run_state_machine_as_test(
                machine,
                settings=settings(
                    max_examples=-(-examples // EXAMPLES),
                    stateful_step_count=STEPS,
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                ),
            )
            loop.run_until_complete(redis.close())
    finally:
        loop.close()

"""The service in this process, once a scenario: over real HTTP, on an empty store."""

import asyncio
import contextlib
import itertools
import socket
import tempfile
import threading
import warnings
from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import uvicorn
import uvloop
from starlette.types import ASGIApp, Receive, Scope, Send

from footfall.accounts.rules import attempts, log_ins
from footfall.asgi import create_app, create_metrics
from footfall.config import Settings
from footfall.driver.script_calls import Rate
from footfall.stores import open_process, open_store
from tests.support.providers import Provider, provider
from tests.support.servers import program_of, running
from tests.support.sites import site_of

from .recording import Scenario
from .replay import Outcome, Replay, Server

T = TypeVar("T")
# The settings of the recording, except for the limit, which each scenario turns on for itself.
COMMON = {
    "IPQPS": "0",
    # Every change would wait for a flush to the disk, and fail where that is slow.
    "DURABILITY": "memory",
    "REDIS_TIMEOUT": "60",
    "SITE_NAME": "Demo",
    "SITE_URL": "http://site.example",
    "SERVER_URL": "http://127.0.0.1:8361",
}
# The services by which one could log in at the recording's service of this kind.
SERVICES = ("github", "twitter", "facebook", "google", "weibo", "qq", "oidc", "huawei")
STEP_SECONDS = 60.0


class Recorder:
    """An application with an ear: what it was asked, byte for byte."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.targets: list[tuple[str, str]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        query = scope["query_string"]
        target = scope["raw_path"] + (b"?" + query if query else b"")
        self.targets.append((scope["method"], target.decode("latin-1")))
        await self._app(scope, receive, send)


class Runner:
    """A Valkey of its own and an event loop in a thread, for one service after the other."""

    def __init__(self, redis_url: str, loop: asyncio.AbstractEventLoop, provider: Provider) -> None:
        self._redis_url = redis_url
        self._provider = provider
        self._loop = loop
        self._prefixes = (f"c{n}" for n in itertools.count())
        # What the last replay asked.
        self.requests: Sequence[tuple[str, str]] = ()

    def replay(self, scenario: Scenario) -> list[Outcome]:
        """Every row of the scenario, on an empty store."""
        environ = {**COMMON, "OAUTH_URL": self._provider.url, **scenario.settings}
        settings = Settings.from_env({**environ, "KEY_PREFIX": next(self._prefixes)})
        store = open_store(settings, open_process(settings, self._redis_url))
        service = site_of(settings, store, metrics=create_metrics())
        app = Recorder(create_app(settings, service))
        self.requests = app.targets
        try:
            self._do(store.create())
            self._do(service.accounts.providers.names(STEP_SECONDS))
            with self._serving(app) as url, contextlib.closing(Server(url)) as server:
                return list(Replay(scenario, server).run())
        finally:
            self._do(service.process.background.finished())
            self._do(store.redis.close())

    @contextlib.contextmanager
    def _serving(self, app: ASGIApp) -> Iterator[str]:
        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                http="httptools",
                ws="none",
                lifespan="off",
                log_config=None,
                proxy_headers=False,
            )
        )
        serving = asyncio.run_coroutine_threadsafe(server.serve([listener]), self._loop)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            serving.result(STEP_SECONDS)

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(STEP_SECONDS)


@contextlib.contextmanager
def _without_waiting() -> Iterator[None]:
    """Let logins in this process fail at once, and as often as wanted."""
    fast = Rate(1000, 1000)
    with (
        patch.multiple(
            attempts,
            ADDRESS_RATE=fast,
            QUESTION_RATE=fast,
            REGISTRATION_RATE=fast,
            SUCCESS_RATE=fast,
        ),
        patch.object(log_ins, "FAILED_SECONDS", 0.0),
    ):
        yield


@contextlib.contextmanager
def open_runner(redis_url: str = "") -> Iterator[Runner]:
    """On the Redis at this URL, else on one of its own."""
    # As in production; asyncio's own loop would let small answers wait for an acknowledgement.
    loop = uvloop.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="conformance")
    with contextlib.ExitStack() as stack:
        if not redis_url:
            home = stack.enter_context(tempfile.TemporaryDirectory(prefix="ff"))
            redis = running(program_of("valkey"), Path(home) / "redis")
            redis_url = stack.enter_context(redis).url
        others = stack.enter_context(provider())
        others.services = [{"name": name} for name in SERVICES]
        stack.enter_context(_without_waiting())
        thread.start()
        try:
            yield Runner(redis_url, loop, others)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            with warnings.catch_warnings():
                # uvloop hangs when its warning of what a failed test left open is an error.
                warnings.simplefilter("ignore", ResourceWarning)
                loop.close()

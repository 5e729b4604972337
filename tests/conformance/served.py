"""The service in this process, once a scenario: over real HTTP, on an empty store of its own."""

import asyncio
import contextlib
import itertools
import os
import socket
import tempfile
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from service.app import create_app, create_service, open_store
from service.config import Settings
from tests.servers import programs, running

from .people import People
from .recording import Row, Scenario
from .replay import Outcome, Replay, Server

T = TypeVar("T")
# As the recording was made, but for the limit, which each scenario turns on for itself.
COMMON = {"IPQPS": "0", "SITE_NAME": "Demo", "SITE_URL": "http://site.example"}
STEP_SECONDS = 30.0


class Heard:
    """An application with an ear: what it was asked, byte for byte."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.targets: list[tuple[str, str]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        query = scope["query_string"]
        target = scope["raw_path"] + (b"?" + query if query else b"")
        self.targets.append((scope["method"], target.decode("latin-1")))
        await self._app(scope, receive, send)


class House:
    """A Valkey of its own and an event loop in a thread, for as many services as are asked for."""

    def __init__(self, redis_url: str, loop: asyncio.AbstractEventLoop) -> None:
        self._redis_url = redis_url
        self._loop = loop
        self._prefixes = (f"c{n}" for n in itertools.count())
        self.heard: dict[str, list[tuple[str, str]]] = {}

    def replay(self, scenario: Scenario) -> list[Outcome]:
        """Every row of the scenario, with accounts, on an empty store."""
        return self._do(self._replay(scenario))

    async def _replay(self, scenario: Scenario) -> list[Outcome]:
        settings = Settings.from_env({**COMMON, **scenario.settings, "KEY_PREFIX": next(self._prefixes)})
        store = open_store(settings, self._redis_url)
        await store.open()
        people = People(store.accounts.save)
        service = create_service(settings, store, viewer_of=people.viewer_of)
        app = Heard(create_app(settings, service))
        self.heard[scenario.name] = app.targets
        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(
            uvicorn.Config(
                app, http="httptools", ws="none", lifespan="off", log_config=None, proxy_headers=False
            )
        )
        serving = asyncio.create_task(server.serve([listener]))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            return await asyncio.to_thread(self._run, scenario, url, people)
        finally:
            server.should_exit = True
            await serving
            await store.close()

    def _run(self, scenario: Scenario, url: str, people: People) -> list[Outcome]:
        server = Server(url)
        with contextlib.closing(server):
            return list(Replay(scenario, server, lambda row: self._place(people, row)).run())

    def _place(self, people: People, row: Row) -> None:
        self._do(people.place(row))

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        done: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return done.result(STEP_SECONDS)


@contextlib.contextmanager
def house() -> Iterator[House]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="conformance")
    with tempfile.TemporaryDirectory(prefix="ff") as home:
        found = programs()
        program = os.environ.get("REDIS_SERVER") or found["valkey"]
        with running(program, Path(home) / "redis") as redis:
            thread.start()
            try:
                yield House(redis.url, loop)
            finally:
                loop.call_soon_threadsafe(loop.stop)
                thread.join()
                loop.close()

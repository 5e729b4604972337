"""Runs the service: a listener, a Redis, uvicorn between them, and an orderly stop.

At the start the port is bound before Redis is started, so that a second service fails before it
touches the data. At the stop Redis ends last, since the last requests need it.
"""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import uniform
from typing import Any

import uvicorn

from .. import __version__
from ..api.hot_cycle import HotCycle, protocol_of
from ..app import (
    account_rules_of,
    create_delivery,
    create_service,
    durability_of,
    open_store,
    redis_of,
)
from ..asgi import create_app, create_metrics, health_of, policy_of
from ..config import Settings
from ..domain import banning, refresh
from ..domain.delivery import delivering
from ..domain.keeping_up import keep_up
from ..domain.service import Service
from ..driver.replies import ErrorReply
from ..driver.url import may_pass
from ..errors import StoreUnavailable
from ..http.protocol import HttpProtocol
from ..store import Store
from ..store.quota import FRESH_SECONDS
from ..telemetry.logs import announce
from ..telemetry.metrics import ROW_BYTES, Metrics
from . import workers
from .banner import print_banner
from .listener import BACKLOG, bound, refuse_more
from .server import Server

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Mode:
    """How requests are answered: `is_hot`, with the fast path; `is_traced`, with spans."""

    is_hot: bool = True
    is_traced: bool = False

    def options(self) -> list[str]:
        """The options of `footfall serve` for a worker with the same mode."""
        hot, traced = [] if self.is_hot else ["--no-hot-lane"], ["--traced"] * self.is_traced
        return hot + traced


# How long requests in flight may take after the listener was closed.
GRACE_SECONDS = 10
# How much longer workers drain than their parent: it closes their shared socket to new connections
# first, and they accept those that still wait.
DRAIN_MARGIN_SECONDS = 0.2
# Between two checks of Redis, between two while something is wrong, and between two attempts to
# reach it at the start.
WATCH_SECONDS = 60
LOOK_SECONDS = 1
RETRY_SECONDS = 0.25
# Requests leave no reference cycles, so the garbage collector may run rarely.
GC_THRESHOLDS = (50_000, 20, 50)


async def serve_alone(settings: Settings, mode: Mode) -> None:
    """One process that does everything. Raises CannotStart, Unsafe, Mismatch, StoreUnavailable."""
    with bound(settings) as listener:
        # From here on connections wait in the backlog instead of being refused.
        listener.listen(BACKLOG)
        async with redis_of(settings) as (url, description):
            metrics = create_metrics()
            store = open_store(settings, url, metrics, is_traced=mode.is_traced)
            service = create_service(settings, store, metrics=metrics)
            await _open(store, settings, creates=True)
            size = await store.scale.weigh()
            async with _answering(settings, service, store, listener, mode):
                print_banner(settings, listener, description, store, size, is_traced=mode.is_traced)
    announce("Footfall has stopped")


async def serve_many(settings: Settings, number: int, mode: Mode) -> None:
    """A parent process with `number` workers. Raises what serve_alone raises."""
    with bound(settings, is_shared=True) as listener, tempfile.TemporaryFile() as shared:
        async with redis_of(settings) as (url, description):
            store = open_store(settings, url)
            await _open(store, settings, creates=True)
            size = await store.scale.weigh()
            await store.close()
            environ = {"REDIS_URL": url, "DURABILITY": str(durability_of(settings))}
            arguments = ["serve", "--as-worker", *mode.options()]
            if settings.uds:
                listener.listen(BACKLOG)
                arguments += ["--inherited", str(listener.fileno())]
                if settings.drain_seconds:
                    environ["DRAIN_SECONDS"] = str(settings.drain_seconds + DRAIN_MARGIN_SECONDS)
            else:
                environ["PORT"] = str(listener.getsockname()[1])
            shared.truncate(number * ROW_BYTES)
            arguments += ["--metrics", str(shared.fileno())]
            inherited = [listener.fileno(), shared.fileno()]
            shut = _shutter(listener, settings)
            kept = asyncio.create_task(workers.keep(number, arguments, environ, inherited, shut))
            if await workers.is_listening(listener, kept):
                many = f"{description}, {number} workers"
                print_banner(settings, listener, many, store, size, is_traced=mode.is_traced)
            await kept
    announce("Footfall has stopped")


def _shutter(listener: socket.socket, settings: Settings) -> workers.WhenStopping:
    """A function that closes the workers' shared socket to new connections; no worker may do so."""
    signals = list[signal.Signals]()

    def shut(number: signal.Signals) -> None:
        signals.append(number)
        if not settings.uds:
            return
        if signals == [signal.SIGTERM] and settings.drain_seconds:
            asyncio.get_running_loop().call_later(settings.drain_seconds, refuse_more, listener)
        else:
            refuse_more(listener)

    return shut


async def serve_as_worker(
    settings: Settings, metrics: Metrics, inherited: int | None, mode: Mode
) -> None:
    """One of several workers; its parent has checked Redis and prints the banner."""
    with contextlib.ExitStack() as stack:
        if inherited is None:
            listener = stack.enter_context(bound(settings, is_shared=True))
        else:
            listener = stack.enter_context(socket.socket(fileno=inherited))
        # It listens only when it can answer; other workers serve meanwhile.
        store = open_store(settings, settings.redis_url, metrics, is_traced=mode.is_traced)
        service = create_service(settings, store, metrics=metrics)
        await _open(store, settings, creates=False)
        async with _answering(settings, service, store, listener, mode, is_own=inherited is None):
            pass


async def _open(store: Store, settings: Settings, *, creates: bool) -> None:
    """Open the store; wait for Redis up to REDIS_WAIT. Raises Unsafe if GUARD refuses this Redis.

    With `creates` it makes the data set if there is none, checks GUARD and logs problems. The
    parent does that once, and its workers do not.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + settings.redis_wait
    is_logged = False
    while True:
        try:
            await store.safety.check(logs=settings.guard == "warn" and creates)
            if creates:
                store.safety.refuse(is_strict=settings.guard == "refuse")
            await (store.create() if creates else store.open())
            try:
                # The parent counts anew, and its workers use that count.
                await store.quota.count(0 if creates else FRESH_SECONDS)
            except StoreUnavailable:
                # One node of a Cluster keeps nobody from serving what is on the others.
                if not store.redis.is_cluster:
                    raise
            if creates and await store.accounts.lacks_administrator():
                log.warning("%s", account_rules_of(settings).vacancy)
            return
        except StoreUnavailable as error:
            if loop.time() > deadline or not may_pass(error.__cause__):
                raise
            if not is_logged:
                log.warning(
                    "Redis does not answer (%s); waiting for it for %g seconds",
                    error.__cause__, settings.redis_wait,
                )  # fmt: skip
                is_logged = True
            await asyncio.sleep(RETRY_SECONDS)


@asynccontextmanager
async def _answering(
    settings: Settings,
    service: Service,
    store: Store,
    listener: socket.socket,
    mode: Mode,
    *,
    is_own: bool = True,
) -> AsyncIterator[None]:
    """Answer requests after the block, until SIGTERM or SIGINT.

    Signals are handled already during the block. `is_own` is False if the listener is shared.
    """
    delivery = create_delivery(settings, service) if settings.sends_itself else None
    health = health_of(settings, service)
    app = create_app(settings, service, health, is_traced=mode.is_traced)
    server = Server(
        _uvicorn_of(app, _protocol(settings, service, mode)),
        service,
        health,
        settings.drain_seconds,
        is_own=is_own,
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.stop, number)
    spare_the_collector()
    with _sending() if mode.is_traced else contextlib.nullcontext():
        yield
        service.bans.look()
        store.redis.stats.logs_outages = service.metrics.is_first
        # So that the first who logs in finds the names of other services.
        service.providers.known()
        working = _doing(_keep_watching(store, service), _keep_looking(store), keep_up(service))
        try:
            async with working, delivering(delivery):
                await server.serve([listener])
        finally:
            await store.close()


@asynccontextmanager
async def _doing(*work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Do this during the block."""
    tasks = list(map(asyncio.create_task, work))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()


def _uvicorn_of(app: Callable[..., Any], protocol: type[HttpProtocol]) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        # http/client.py reads X-Forwarded-For, by TRUSTED_PROXIES.
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def _protocol(settings: Settings, service: Service, mode: Mode) -> type[HttpProtocol]:
    cycle_type = HotCycle
    if mode.is_traced:
        # Imported here, because OpenTelemetry is optional.
        from ..tracing.spans import TracedCycle

        cycle_type = TracedCycle
    policy = policy_of(settings)
    return protocol_of(service, policy, is_hot=mode.is_hot, cycle_type=cycle_type)


def _sending() -> contextlib.AbstractContextManager[None]:
    # Imported here, because OpenTelemetry is optional.
    from ..tracing.sending import sending

    return sending(__version__)


async def _keep_watching(store: Store, service: Service) -> None:
    stats = store.redis.stats
    outage = stats.outage("Redis could not be checked", "Redis can be checked again")
    while True:
        # At random, so that one worker counts first and the others use its count.
        await asyncio.sleep(WATCH_SECONDS * uniform(0.8, 1))
        try:
            await store.safety.check(logs=stats.logs_outages)
            await store.quota.count()
            await refresh.resume(service)
            await banning.tidy(service)
            outage.ends()
        except StoreUnavailable:
            # Connections log outages, and /readyz reports them.
            pass
        except ErrorReply as error:
            outage.goes_on(error)
        except Exception:
            log.exception("Redis could not be checked")


async def _keep_looking(store: Store) -> None:
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            await store.safety.look(logs=store.redis.stats.logs_outages)
        except Exception:
            log.exception("Redis could not be looked at")


def spare_the_collector() -> None:
    """Exclude objects that stay for good from garbage collection, and make it rarer.

    A full collection with the modules takes 20 ms, in which no request is answered.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)

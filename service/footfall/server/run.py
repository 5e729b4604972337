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
from random import uniform

from ..app import (
    account_rules_of,
    create_delivery,
    create_service,
    durability_of,
    open_store,
    redis_of,
)
from ..asgi import create_metrics, health_of
from ..config import Settings
from ..domain import banning, refresh
from ..domain.delivery import delivering
from ..domain.keeping_up import keep_up
from ..domain.service import Service
from ..driver.replies import ErrorReply
from ..driver.url import may_pass
from ..errors import StoreUnavailable
from ..store import Store
from ..store.quota import FRESH_SECONDS
from ..telemetry.logs import announce
from ..telemetry.metrics import ROW_BYTES, Metrics
from . import workers
from .answering import Mode, answering
from .banner import print_banner
from .listener import BACKLOG, bound, refuse_more
from .server import Server
from .systemd import Systemd

log = logging.getLogger(__name__)


# How much longer workers drain than their parent: it closes their shared socket to new connections
# first, and they accept those that still wait.
DRAIN_MARGIN_SECONDS = 0.2
# Between two checks of Redis, and between two attempts to reach it at the start.
WATCH_SECONDS = 60
RETRY_SECONDS = 0.25
# Requests leave no reference cycles, so the garbage collector may run rarely.
GC_THRESHOLDS = (50_000, 20, 50)


async def serve_alone(settings: Settings, mode: Mode) -> None:
    """One process that does everything. Raises CannotStart, Unsafe, Mismatch, StoreUnavailable."""
    with bound(settings) as listener:
        # From here on connections wait in the backlog instead of being refused.
        listener.listen(BACKLOG)
        Systemd.starting()
        async with redis_of(settings) as (url, description):
            metrics = create_metrics()
            store = open_store(settings, url, metrics, is_traced=mode.is_traced)
            service = create_service(settings, store, metrics=metrics)
            await _open(store, settings, creates=True)
            size = await store.scale.weigh()
            systemd = Systemd(listener)
            async with _answering(settings, service, store, listener, mode, systemd.stopping):
                print_banner(settings, listener, description, store, size, is_traced=mode.is_traced)
                systemd.ready()
    announce("Footfall has stopped")


async def serve_many(settings: Settings, number: int, mode: Mode) -> None:
    """A parent process with `number` workers. Raises what serve_alone raises."""
    with bound(settings, is_shared=True) as listener, tempfile.TemporaryFile() as shared:
        Systemd.starting()
        async with redis_of(settings) as (url, description):
            store = open_store(settings, url)
            await _open(store, settings, creates=True)
            size = await store.scale.weigh()
            await store.close()
            # Workers that are started later have these settings, too, whatever their files have.
            told = settings.given.but(DURABILITY=str(durability_of(settings)))
            if not settings.redis_url:
                told = told.but(REDIS_URL=url, REDIS_PASSWORD="")
            arguments = ["serve", "--as-worker", *mode.options()]
            if settings.uds:
                listener.listen(BACKLOG)
                arguments += ["--inherited", str(listener.fileno())]
                if settings.drain_seconds:
                    drains = settings.drain_seconds + DRAIN_MARGIN_SECONDS
                    told = told.but(DRAIN_SECONDS=str(drains))
            else:
                told = told.but(PORT=str(listener.getsockname()[1]))
            shared.truncate(number * ROW_BYTES)
            arguments += ["--metrics", str(shared.fileno())]
            inherited = [listener.fileno(), shared.fileno()]
            pool = workers.Pool(told.packed(), inherited)
            systemd = Systemd(listener, lambda: pool.is_running)
            shut = _shutter(listener, settings, systemd)
            kept = asyncio.create_task(pool.keep(number, arguments, shut))
            if await workers.is_listening(listener, kept):
                many = f"{description}, {number} workers"
                print_banner(settings, listener, many, store, size, is_traced=mode.is_traced)
                systemd.ready()
            await kept
    announce("Footfall has stopped")


def _shutter(listener: socket.socket, settings: Settings, systemd: Systemd) -> workers.WhenStopping:
    """A function that closes the workers' shared socket to new connections; no worker may do so."""
    signals = list[signal.Signals]()

    def shut(number: signal.Signals) -> None:
        systemd.stopping()
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
            if settings.guard == "refuse" and creates:
                store.safety.refuse()
            await (store.create() if creates else store.open())
            # The parent counts anew, and its workers use that count.
            await store.quota.count(0 if creates else FRESH_SECONDS)
            if creates and not await store.accounts.administrators():
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
    when_stopping: Callable[[], None] = lambda: None,
    *,
    is_own: bool = True,
) -> AsyncIterator[None]:
    """Answer requests after the block, until SIGTERM or SIGINT; then `when_stopping` is called.

    Signals are handled already during the block. `is_own` is False if the listener is shared.
    """
    delivery = create_delivery(settings, service) if settings.sends_itself else None
    health = health_of(settings, service)
    with answering(settings, service, health, mode) as config:
        drain = settings.drain_seconds
        server = Server(config, service, health, drain, when_stopping, is_own=is_own)
        server.handle_signals()
        spare_the_collector()
        yield
        service.bans.look()
        store.redis.stats.logs_outages = service.metrics.is_first
        # So that the first who logs in finds the names of other services.
        service.providers.known()
        working = _doing(_keep_watching(store, service), keep_up(service))
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


def spare_the_collector() -> None:
    """Exclude objects that stay for good from garbage collection, and make it rarer.

    A full collection with the modules takes 20 ms, in which no request is answered.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)

"""Runs the service: a listener, a Redis, uvicorn between them, and an orderly stop.

At startup the port is bound before Redis is started, so that a second service fails before it
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
from mmap import mmap

from ..app import create_delivery, create_site
from ..asgi import create_metrics, health_of
from ..config import Settings
from ..notifications.rules.delivery import delivering
from ..site import Site
from ..stores import durability_of, open_process, open_store, redis_of
from ..telemetry.logs import announce
from ..telemetry.metrics import Metrics
from . import workers
from .answering import GRACE_SECONDS, Mode, answering
from .banner import print_banner
from .descriptors import Shortage
from .keeping_up import keep_up
from .listener import BACKLOG, bound, refuse_more
from .opening import opened
from .server import Server
from .systemd import Systemd
from .watch import keep_looking, keep_watching

log = logging.getLogger(__name__)


# How much longer workers drain than their parent: it closes their shared socket to new connections
# first, and they accept those that still wait.
DRAIN_MARGIN_SECONDS = 0.2
# How long a worker may take to end when it has drained: its requests, then its notifications.
END_SECONDS = DRAIN_MARGIN_SECONDS + 2 * GRACE_SECONDS
# Requests leave no reference cycles, so the garbage collector may run rarely.
GC_THRESHOLDS = (50_000, 20, 50)


async def stoppable(serving: Coroutine[None, None, None]) -> None:
    """Ends with a SIGTERM that comes before the service answers, such as while it waits for Redis;
    afterwards it handles signals itself."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await serving


async def serve_alone(settings: Settings, mode: Mode) -> None:
    """One process that does everything. Raises CannotStart, Unsafe, Mismatch, StoreUnavailable."""
    with bound(settings) as listener:
        # From here on connections wait in the backlog instead of being rejected.
        listener.listen(BACKLOG)
        Systemd.starting()
        async with redis_of(settings) as (url, description):
            metrics = create_metrics(settings.compat)
            process = open_process(settings, url, metrics)
            store = open_store(settings, process)
            site = create_site(settings, process, store)
            await opened(process, store, settings, creates=True)
            size = await store.scale.weigh()
            systemd = Systemd(listener)
            async with _answering(settings, site, listener, mode, systemd.stopping):
                where = (settings, listener, description)
                print_banner(*where, process.safety, size, is_traced=mode.is_traced)
                systemd.ready()
    announce("Footfall has stopped")


async def serve_many(settings: Settings, number: int, mode: Mode) -> None:
    """A parent process with `number` workers. Raises what serve_alone raises."""
    with bound(settings, is_shared=True) as listener, tempfile.TemporaryFile() as shared:
        Systemd.starting()
        async with redis_of(settings) as (url, description):
            process = open_process(settings, url)
            store = open_store(settings, process)
            await opened(process, store, settings, creates=True)
            size = await store.scale.weigh()
            await process.close()
            # Workers that are started later have these settings, too, whatever their files have.
            variables = settings.given.but(DURABILITY=str(durability_of(settings)))
            if not settings.redis_url:
                variables = variables.but(REDIS_URL=url, REDIS_PASSWORD="")
            arguments = ["serve", "--as-worker", *mode.options()]
            if settings.uds:
                listener.listen(BACKLOG)
                arguments += ["--inherited", str(listener.fileno())]
                if settings.drain_seconds:
                    drains = settings.drain_seconds + DRAIN_MARGIN_SECONDS
                    variables = variables.but(DRAIN_SECONDS=str(drains))
            else:
                variables = variables.but(PORT=str(listener.getsockname()[1]))
            # A row for each worker, and one for this process.
            shared.truncate((number + 1) * create_metrics(settings.compat).row_bytes)
            metrics = create_metrics(settings.compat, mmap(shared.fileno(), 0), number)
            arguments += ["--metrics", str(shared.fileno())]
            told = workers.Told(variables.packed(), [listener.fileno(), shared.fileno()])
            ends = settings.drain_seconds + END_SECONDS
            pool = workers.Pool(told, metrics, settings.hang_seconds, ends)
            systemd = Systemd(listener, lambda: pool.is_answering)
            shut = _shutter(listener, settings, systemd)
            kept = asyncio.create_task(pool.keep(number, arguments, shut))
            if await workers.are_answering(listener, kept):
                many = f"{description}, {number} workers"
                where = (settings, listener, many)
                print_banner(*where, process.safety, size, is_traced=mode.is_traced)
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
        process = open_process(settings, settings.redis_url, metrics)
        store = open_store(settings, process)
        site = create_site(settings, process, store)
        await opened(process, store, settings, creates=False)
        async with _answering(settings, site, listener, mode, is_own=inherited is None):
            pass


@asynccontextmanager
async def _answering(
    settings: Settings,
    site: Site,
    listener: socket.socket,
    mode: Mode,
    when_stopping: Callable[[], None] = lambda: None,
    *,
    is_own: bool = True,
) -> AsyncIterator[None]:
    """Answer requests after the block, until SIGTERM or SIGINT; then `when_stopping` is called.

    Signals are handled already during the block. `is_own` is False if the listener is shared.
    """
    delivery = create_delivery(settings, site) if settings.sends_itself else None
    health = health_of(settings, site)
    with answering(settings, site, health, mode) as config:
        drain = settings.drain_seconds
        shortage = Shortage(site.process.metrics, settings.max_connections)
        server = Server(config, site, health, drain, shortage, when_stopping, is_own=is_own)
        server.handle_signals()
        spare_the_collector()
        yield
        site.accounts.bans.look()
        await site.statistics.keeper.start()
        site.process.redis.stats.logs_outages = site.process.metrics.is_first
        # So that the first login finds the names of other services.
        site.accounts.providers.known()
        looking = keep_looking(site.process, site.data.floods)
        working = _doing(keep_watching(site), looking, keep_up(site))
        try:
            async with working, delivering(delivery):
                await server.serve([listener])
        finally:
            await site.process.close()


@asynccontextmanager
async def _doing(*work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Do this during the block."""
    tasks = list(map(asyncio.create_task, work))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()


def spare_the_collector() -> None:
    """Exclude objects that stay for good from garbage collection, and make it rarer.

    A full collection with the modules takes 20 ms, in which no request is answered.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)

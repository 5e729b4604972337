"""Running the service: a listener, a Redis, uvicorn between them, and an orderly end.

The order matters twice. At start the port is taken first and Redis comes second, so that two
services cannot both believe that it is theirs; at the end it is the other way round, since whoever
is still being answered needs Redis.
"""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import uniform
from typing import Any

import uvicorn

from .. import __version__
from ..api.hot_cycle import HotCycle, protocol_of
from ..app import (
    create_app,
    create_metrics,
    create_service,
    durability_of,
    health_of,
    open_store,
    policy_of,
)
from ..config import BadSettings, Settings
from ..domain.service import Service
from ..driver.private_server import CannotStart, private_server
from ..driver.replies import ErrorReply
from ..driver.url import may_pass, parse_redis_url
from ..errors import StoreUnavailable
from ..http.protocol import HttpProtocol
from ..store import Store
from ..store.quota import FRESH_SECONDS
from ..store.size import Size
from ..telemetry.logs import say
from ..telemetry.metrics import ROW, Metrics
from . import workers
from .listener import BACKLOG, bound, name_of, refuse_more
from .server import Server

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Way:
    """How requests are answered: hot ones without ASGI; each with a span."""

    is_hot: bool = True
    is_traced: bool = False

    def options(self) -> list[str]:
        """What tells a worker so."""
        hot, traced = [] if self.is_hot else ["--no-hot-lane"], ["--traced"] * self.is_traced
        return hot + traced


# What requests in flight get when the listener has closed.
GRACE_SECONDS = 10
# How much longer than their parent workers drain: it shuts the socket that they share, and they
# take who is left.
BEHIND_SECONDS = 0.2
WATCH_SECONDS = 60
KNOCK_SECONDS = 0.25
# Requests leave no cycles behind, so young objects are looked through rarely, and old ones more so.
GC_THRESHOLDS = (50_000, 20, 50)


def own_redis(settings: Settings) -> str:
    """Which Redis REDIS_URL names, without what lets one in. Raises BadSettings."""
    try:
        return f"REDIS_URL {parse_redis_url(settings.redis_url).shown}"
    except ValueError as error:
        raise BadSettings(f"REDIS_URL: {error}") from error


@asynccontextmanager
async def redis_of(settings: Settings) -> AsyncIterator[tuple[str, str]]:
    """(URL, description) of the Redis that the settings ask for.

    Raises BadSettings, CannotStart, InUse.
    """
    if settings.redis_url:
        yield settings.redis_url, own_redis(settings)
        return
    durability = durability_of(settings)
    if durability.replicas:
        raise CannotStart(
            f"DURABILITY={durability}: the private server has no replicas; give a REDIS_URL"
        )
    server = private_server(settings.data_dir, settings.redis_server, durability)
    async with server as (url, version):
        yield url, f"private {version} in {settings.data_dir.absolute()}"


async def serve_alone(settings: Settings, way: Way) -> None:
    """One process that does everything. Raises CannotStart, Unsafe, Mismatch, StoreUnavailable."""
    with bound(settings) as listener:
        # From here on connections wait instead of being refused.
        listener.listen(BACKLOG)
        async with redis_of(settings) as (url, description):
            metrics = create_metrics()
            store = open_store(settings, url, metrics, is_traced=way.is_traced)
            service = create_service(settings, store, metrics=metrics)
            await _open(store, settings, creates=True)
            size = await store.scale.weigh()
            async with _answering(settings, service, store, listener, way):
                _say_where(settings, way, listener, description, store, size)
    say("Footfall has stopped")


async def serve_many(settings: Settings, number: int, way: Way) -> None:
    """A parent that keeps so many workers; raises what serve_alone does."""
    with bound(settings, is_shared=True) as listener, tempfile.TemporaryFile() as shared:
        async with redis_of(settings) as (url, description):
            store = open_store(settings, url)
            await _open(store, settings, creates=True)
            size = await store.scale.weigh()
            await store.close()
            environ = {"REDIS_URL": url, "DURABILITY": str(durability_of(settings))}
            arguments = ["serve", "--as-worker", *way.options()]
            if settings.uds:
                listener.listen(BACKLOG)
                arguments += ["--inherited", str(listener.fileno())]
                if settings.drain_seconds:
                    environ["DRAIN_SECONDS"] = str(settings.drain_seconds + BEHIND_SECONDS)
            else:
                environ["PORT"] = str(listener.getsockname()[1])
            shared.truncate(number * ROW)
            arguments += ["--metrics", str(shared.fileno())]
            inherited = [listener.fileno(), shared.fileno()]
            shut = _shutter(listener, settings)
            kept = asyncio.create_task(workers.keep(number, arguments, environ, inherited, shut))
            if await workers.is_listening(listener, kept):
                _say_where(settings, way, listener, f"{description}, {number} workers", store, size)
            await kept
    say("Footfall has stopped")


def _shutter(listener: socket.socket, settings: Settings) -> workers.WhenStopping:
    """What shuts a socket that workers share: one of them alone must not."""
    told = list[signal.Signals]()

    def shut(number: signal.Signals) -> None:
        told.append(number)
        if not settings.uds:
            return
        if told == [signal.SIGTERM] and settings.drain_seconds:
            asyncio.get_running_loop().call_later(settings.drain_seconds, refuse_more, listener)
        else:
            refuse_more(listener)

    return shut


async def serve_as_worker(
    settings: Settings, metrics: Metrics, inherited: int | None, way: Way
) -> None:
    """One of many: its parent has seen to Redis, and to what is said."""
    with contextlib.ExitStack() as stack:
        if inherited is None:
            listener = stack.enter_context(bound(settings, is_shared=True))
        else:
            listener = stack.enter_context(socket.socket(fileno=inherited))
        # It listens when it can answer, and hears signals: its kin serve meanwhile.
        store = open_store(settings, settings.redis_url, metrics, is_traced=way.is_traced)
        service = create_service(settings, store, metrics=metrics)
        await _open(store, settings, creates=False)
        async with _answering(settings, service, store, listener, way, is_own=inherited is None):
            pass


async def _open(store: Store, settings: Settings, *, creates: bool) -> None:
    """Open the store, if need be when Redis has come; raises Unsafe if it is one to refuse.

    Who `creates` makes the data set where there is none. That, and whether it is a Redis to refuse,
    has been seen to before there are workers, and been said.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + settings.redis_wait
    is_said = False
    while True:
        try:
            await store.safety.check(logs=settings.guard == "warn" and creates)
            if settings.guard == "refuse" and creates:
                store.safety.refuse()
            await (store.create() if creates else store.open())
            # Who comes first counts anew, and shares it with its workers.
            await store.quota.count(0 if creates else FRESH_SECONDS)
            return
        except StoreUnavailable as error:
            if loop.time() > deadline or not may_pass(error.__cause__):
                raise
            if not is_said:
                log.warning(
                    "Redis does not answer (%s); waiting for it for %g seconds",
                    error.__cause__, settings.redis_wait,
                )  # fmt: skip
                is_said = True
            await asyncio.sleep(KNOCK_SECONDS)


@asynccontextmanager
async def _answering(
    settings: Settings,
    service: Service,
    store: Store,
    listener: socket.socket,
    way: Way,
    *,
    is_own: bool = True,
) -> AsyncIterator[None]:
    """Answer requests, from the end of the block on, until SIGTERM or SIGINT.

    In the block signals are heard already. The listener is this process's own, or shared.
    """
    health = health_of(settings, service)
    app = create_app(settings, service, health, is_traced=way.is_traced)
    server = Server(
        _uvicorn_of(app, _protocol(settings, service, way)),
        service,
        health,
        settings.drain_seconds,
        is_own=is_own,
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.stop, number)
    spare_the_collector()
    with _sending() if way.is_traced else contextlib.nullcontext():
        yield
        store.redis.stats.logs_outages = service.metrics.is_first
        watching = loop.create_task(_keep_watching(store))
        try:
            await server.serve([listener])
        finally:
            watching.cancel()
            await store.close()


def _uvicorn_of(app: Callable[..., Any], protocol: type[HttpProtocol]) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        # We read X-Forwarded-For ourselves, with TRUSTED_PROXIES.
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def _protocol(settings: Settings, service: Service, way: Way) -> type[HttpProtocol]:
    cycle_type = HotCycle
    if way.is_traced:
        # Here, since few have it.
        from ..tracing.spans import TracedCycle

        cycle_type = TracedCycle
    policy = policy_of(settings)
    return protocol_of(service, policy, is_hot=way.is_hot, cycle_type=cycle_type)


def _sending() -> contextlib.AbstractContextManager[None]:
    # Here, since few have it.
    from ..tracing.sending import sending

    return sending(__version__)


async def _keep_watching(store: Store) -> None:
    stats = store.redis.stats
    trouble = stats.outage("Redis could not be looked at", "Redis can be looked at again")
    while True:
        # Not all workers at the same moment: they share what one of them has counted.
        await asyncio.sleep(WATCH_SECONDS * uniform(0.8, 1))
        try:
            await store.safety.check(logs=stats.logs_outages)
            await store.quota.count()
            trouble.ends()
        except StoreUnavailable:
            # /readyz says so.
            pass
        except ErrorReply as error:
            trouble.goes_on(error)
        except Exception:
            log.exception("Redis could not be looked at")


def _say_where(
    settings: Settings,
    way: Way,
    listener: socket.socket,
    description: str,
    store: Store,
    size: Size | None,
) -> None:
    facts = {"Redis": description, "data": _where(settings, store)}
    if size is not None:
        facts["holds"] = str(size)
    if way.is_traced:
        facts["traces"] = "to where OTEL_* says"
    say(f"Footfall {__version__} listens on {name_of(listener)}", **facts)


_PROMISES = {
    "memory": "written when the system likes",
    "everysec": "on disk a second after a change is acknowledged",
    "fsync": "on disk before a change is acknowledged",
}


def _where(settings: Settings, store: Store) -> str:
    durability = durability_of(settings)
    place = (
        f"in that Redis, under {settings.key_prefix}:*"
        if settings.redis_url
        else str(settings.data_dir.absolute())
    )
    if any(each.is_fatal for each in store.safety.problems.values()):
        return f"{place}, and not certain to be kept: see the errors before this"
    promise = _PROMISES.get(
        durability.level, f"at {durability.replicas} replicas before a change is acknowledged"
    )
    return f"{place}, {promise}"


def spare_the_collector() -> None:
    """Keep garbage collection from walking, again and again, over what stays for good.

    A full walk over the modules alone takes 20 ms, in which nobody is answered.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)

"""Running the service: a listener, a Redis, uvicorn between them, and an orderly end.

The order matters twice. At start the port is taken first and Redis comes second, so that two
services cannot both believe that it is theirs; at the end it is the other way round, since whoever
is still being answered needs Redis.
"""

import asyncio
import contextlib
import gc
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import click
import uvicorn

from . import __version__, workers
from .app import create_app, create_service, open_store, policy_of
from .config import Settings
from .store.embedded import CannotStart, private_server
from .store.size import Size
from .web.guard import Guarded
from .web.hotlane import hot_lane

GRACE_SECONDS = 10
BACKLOG = 2048
# Requests leave no cycles behind, so young objects are looked through rarely, and old ones more so.
GC_THRESHOLDS = (50_000, 20, 50)


@asynccontextmanager
async def redis_of(settings: Settings) -> AsyncIterator[tuple[str, str]]:
    """(URL, description) of the Redis that the settings ask for."""
    if settings.redis_url:
        yield settings.redis_url, "REDIS_URL"
        return
    async with private_server(settings.data_dir, settings.redis_server) as (url, version):
        yield url, f"private {version} in {settings.data_dir.absolute()}"


class _Server(uvicorn.Server):
    """Leaves signals to serve_alone; uvicorn would raise them again, before Redis is stopped."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def on_tick(self, counter: int) -> bool:
        # A tick is a tenth of a second.
        if counter % 10 == 0:
            since = asyncio.get_running_loop().time() - self.config.timeout_keep_alive
            for connection in list(self.server_state.connections):
                if isinstance(connection, Guarded):
                    connection.close_if_idle(since)
        return await super().on_tick(counter)


async def serve_many(settings: Settings, number: int, options: list[str]) -> None:
    try:
        reserved = workers.reserve(settings.host, settings.port)
    except OSError as error:
        raise _cannot_listen(settings, error) from error
    with reserved:
        async with redis_of(settings) as (url, description):
            store = open_store(settings, url)
            await store.open()
            size = await store.scale.weigh()
            await store.close()
            host, port, *_ = reserved.getsockname()
            environ = {"REDIS_URL": url, "PORT": str(port)}
            async with asyncio.TaskGroup() as group:
                arguments = ["serve", "--as-worker", *options]
                kept = group.create_task(workers.keep(number, arguments, environ))
                if await workers.is_listening(host, port, kept):
                    _say_where(settings, reserved, f"{description}, {number} workers", size)
    click.echo("Footfall has stopped")


async def serve_alone(settings: Settings, *, has_hot_lane: bool, is_worker: bool) -> None:
    listener = _listen(settings, is_shared=is_worker)
    async with redis_of(settings) as (url, description):
        service = create_service(settings, open_store(settings, url))
        await service.store.open()
        server = _Server(
            uvicorn.Config(
                create_app(settings, service),
                http=hot_lane(service, policy_of(settings)) if has_hot_lane else Guarded,
                ws="none",
                lifespan="off",
                access_log=False,
                log_config=None,
                server_header=False,
                # We read X-Forwarded-For ourselves, with TRUSTED_PROXIES.
                proxy_headers=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        _stop_on_signal(server)
        spare_the_collector()
        if not is_worker:
            size = await service.store.scale.weigh()
            _say_where(settings, listener, description, size)
        try:
            await server.serve([listener])
        finally:
            await service.store.close()
    if not is_worker:
        click.echo("Footfall has stopped")


def _say_where(
    settings: Settings, listener: socket.socket, description: str, size: Size | None
) -> None:
    host, port, *_ = listener.getsockname()
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"Footfall {__version__} listens on http://{shown}:{port}")
    click.echo(f"  Redis  {description}")
    click.echo(f"  data   {_where(settings)}")
    if size is not None:
        click.echo(f"  holds  {size}")


def _where(settings: Settings) -> str:
    if settings.redis_url:
        return f"in that Redis, under {settings.key_prefix}:*"
    return f"{settings.data_dir.absolute()}, on disk before a change is acknowledged"


def _listen(settings: Settings, *, is_shared: bool) -> socket.socket:
    try:
        if is_shared:
            listener = workers.reserve(settings.host, settings.port)
        else:
            family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
            listener = socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        raise _cannot_listen(settings, error) from error
    # From here on connections wait instead of being refused, as the banner promises.
    listener.listen(BACKLOG)
    return listener


def _cannot_listen(settings: Settings, error: OSError) -> CannotStart:
    reason = error.strerror or error
    return CannotStart(f"cannot listen on {settings.host} port {settings.port}: {reason}")


def spare_the_collector() -> None:
    """Keep garbage collection from walking, again and again, over what stays for good.

    A full walk over the modules alone takes 20 ms, in which nobody is answered.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def _stop_on_signal(server: uvicorn.Server) -> None:
    def stop() -> None:
        # The second signal does not wait for requests in flight.
        server.force_exit = server.should_exit
        server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)

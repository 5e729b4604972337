"""uvicorn's server with an orderly stop: no connection is closed while it may carry a request.

A client whose connection is closed does not know if its last request was carried out. So load
balancers first see that the service drains (DRAIN_SECONDS), then new connections are rejected, and
open ones are answered.
"""

import asyncio
import contextlib
import logging
import math
import signal
import socket
import time
from collections.abc import Callable, Iterator

import uvicorn

from ..http.connection import Connection
from ..monitoring.health import Health
from ..monitoring.metrics import show
from ..site import Site
from .descriptors import Shortage
from .listener import accepted, refuse_more
from .log_files import open_again_on_hangup

log = logging.getLogger(__name__)

# How long a handshake that has started may take to complete: a round trip or two.
HANDSHAKE_SECONDS = 0.1
# How often uvicorn calls `on_tick`.
TICK_SECONDS = 0.1
TICKS_A_SECOND = 10


class Server(uvicorn.Server):
    """uvicorn's server, stopped by `stop`."""

    def __init__(
        self,
        config: uvicorn.Config,
        site: Site,
        health: Health,
        drain_seconds: float,
        shortage: Shortage,
        when_stopping: Callable[[], None],
        *,
        is_own: bool,
    ) -> None:
        super().__init__(config)
        self._site = site
        self._health = health
        self._drain_seconds = drain_seconds
        self._shortage = shortage
        self._when_stopping = when_stopping
        # A listener that workers share is closed to new connections by their parent only.
        self._is_own = is_own
        self._next_tick = math.inf

    def handle_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stop, number)
        open_again_on_hangup()

    def stop(self, number: signal.Signals) -> None:
        """Handle a signal. The first SIGTERM starts to drain; Ctrl-C, or a second signal, stops;
        another one stops immediately."""
        self._when_stopping()
        log.info("%s: the service stops", number.name)
        if self.should_exit:
            self.force_exit = True
        elif (
            number == signal.SIGTERM
            and self._drain_seconds
            and not self._site.process.draining.is_set()
        ):
            self._drain()
            asyncio.get_running_loop().call_later(self._drain_seconds, self._finish)
        else:
            self._finish()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept and answer connections that wait in the backlog, too; uvicorn would reset them."""
        for listener in sockets or ():
            await self._accept_last(listener)
        await super().shutdown(sockets)

    async def _accept_last(self, listener: socket.socket) -> None:
        if self._is_own:
            refuse_more(listener)
        if listener.family != socket.AF_UNIX:
            await asyncio.sleep(HANDSHAKE_SECONDS)
        # A duplicate, since uvicorn's servers close the socket that they were given.
        with listener.dup() as duplicate:
            for server in self.servers:
                server.close()
            loop = asyncio.get_running_loop()
            for connection in accepted(duplicate):
                await loop.connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> asyncio.Protocol:
        # With the arguments that uvicorn's own servers use.
        protocol: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol

    def _show_gauges(self) -> None:
        self._site.process.metrics.connections.show(len(self.server_state.connections))
        show(self._site)

    def _drain(self) -> None:
        self._site.process.draining.set()
        for connection in self._connections():
            connection.close_soon()

    def _finish(self) -> None:
        self._site.process.draining.set()
        self.should_exit = True

    def _connections(self) -> list[Connection]:
        return [
            connection
            for connection in self.server_state.connections
            if isinstance(connection, Connection)
        ]

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn would raise the signals again at its end, before the private Redis is stopped.
        yield

    async def on_tick(self, counter: int) -> bool:
        now = time.monotonic()
        # How late this tick is: the time for which the event loop was busy.
        metrics = self._site.process.metrics
        metrics.loop_lag.observe(max(0.0, now - self._next_tick))
        metrics.ticks.add()
        self._next_tick = now + TICK_SECONDS
        if self._site.process.draining.is_set():
            # Connections that have come since the last tick.
            self._drain()
        self._shortage.look()
        if counter % TICKS_A_SECOND == 0:
            for connection in self._connections():
                connection.close_if_late(now, self.config.timeout_keep_alive)
            self._show_gauges()
        return await super().on_tick(counter)

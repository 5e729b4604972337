"""uvicorn, which we stop ourselves, so that nobody who was let in is cut.

A connection that is closed while a request is in it looks to its client like one that was lost: the
request may have been carried out or not. So whoever sends requests is told first (DRAIN_SECONDS),
then nobody new is let in, and those who are in are answered.
"""

import asyncio
import contextlib
import signal
import socket
import time
from collections.abc import Iterator

import uvicorn

from ..api.health import Health
from ..api.metrics import show
from ..domain.service import Service
from ..http.connection import Connection
from .listener import accepted, refuse_more

# What somebody who has begun to connect gets to finish: a round trip or two.
HANDSHAKE_SECONDS = 0.1


class Server(uvicorn.Server):
    """uvicorn, which we stop ourselves: not before everybody who sends requests has been told."""

    def __init__(
        self,
        config: uvicorn.Config,
        service: Service,
        health: Health,
        drain_seconds: float,
        *,
        is_own: bool,
    ) -> None:
        super().__init__(config)
        self._service = service
        self._health = health
        self._drain_seconds = drain_seconds
        # Is the listener this process's? Who shares it is refused by none but their parent.
        self._is_own = is_own

    def stop(self, number: signal.Signals) -> None:
        """Drain after the first SIGTERM; stop after Ctrl-C, or the second signal; then at once."""
        if self.should_exit:
            self.force_exit = True
        elif number == signal.SIGTERM and self._drain_seconds and not self._health.is_draining:
            self._drain()
            asyncio.get_running_loop().call_later(self._drain_seconds, self._finish)
        else:
            self._finish()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take those who wait at the door, and answer them, too; uvicorn would reset them."""
        for listener in sockets or ():
            await self._take_the_last(listener)
        await super().shutdown(sockets)

    async def _take_the_last(self, listener: socket.socket) -> None:
        if self._is_own:
            refuse_more(listener)
        if listener.family != socket.AF_UNIX:
            await asyncio.sleep(HANDSHAKE_SECONDS)
        # uvicorn's servers close the socket that they were given.
        with listener.dup() as door:
            for server in self.servers:
                server.close()
            loop = asyncio.get_running_loop()
            for connection in accepted(door):
                await loop.connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> asyncio.Protocol:
        # As uvicorn's own servers make them.
        protocol: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol

    def _show(self) -> None:
        self._service.metrics.connections.show(len(self.server_state.connections))
        show(self._service)

    def _drain(self) -> None:
        self._health.is_draining = True
        for connection in self._connections():
            connection.close_soon()

    def _finish(self) -> None:
        self._health.is_draining = self.should_exit = True

    def _connections(self) -> list[Connection]:
        return [each for each in self.server_state.connections if isinstance(each, Connection)]

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn would raise them again when it is done, and Redis is stopped after that.
        yield

    async def on_tick(self, counter: int) -> bool:
        # A tick is a tenth of a second.
        if self._health.is_draining:
            # Those who have come since.
            self._drain()
        if counter % 10 == 0:
            now = time.monotonic()
            for connection in self._connections():
                connection.close_if_late(now, self.config.timeout_keep_alive)
            self._show()
        return await super().on_tick(counter)

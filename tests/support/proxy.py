"""A small load balancer in front of two services.

It polls each service's /readyz, sends requests in turn to those that are ready over connections
that it keeps, and never sends a request twice.
"""

import asyncio
import contextlib
import itertools
from collections.abc import Iterator
from typing import Self

import httpx
import uvicorn
from starlette.types import Receive, Scope, Send

POLL_SECONDS = 0.05
READY_SECONDS = 60.0


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # Signals are handled by the tests.
        yield


class Proxy:
    def __init__(self, urls: list[str]) -> None:
        self.url = ""
        self._urls = urls
        self._ready = [False] * len(urls)
        self._turns = itertools.count()
        self._clients = [httpx.AsyncClient(base_url=url) for url in urls]

    def renamed(self, place: int, url: str) -> None:
        """Note that a service was restarted at another address."""
        self._clients[place].base_url = url

    async def both_are_ready(self) -> None:
        async with asyncio.timeout(READY_SECONDS):
            while not all(self._ready):
                await asyncio.sleep(POLL_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        ready = [i for i, is_ready in enumerate(self._ready) if is_ready]
        client = self._clients[ready[next(self._turns) % len(ready)]]
        headers = [each for each in scope["headers"] if each[0] not in (b"host", b"connection")]
        answer = await client.request(
            scope["method"], scope["raw_path"].decode(), content=message["body"], headers=headers
        )
        kept = [(b"content-type", answer.headers["content-type"].encode())]
        await send({"type": "http.response.start", "status": answer.status_code, "headers": kept})
        await send({"type": "http.response.body", "body": answer.content})

    async def _ask(self, place: int) -> None:
        async with httpx.AsyncClient() as client:
            while True:
                url = str(self._clients[place].base_url.join("/readyz"))
                try:
                    self._ready[place] = (await client.get(url)).status_code == 200
                except httpx.TransportError:
                    self._ready[place] = False
                await asyncio.sleep(POLL_SECONDS)

    async def __aenter__(self) -> Self:
        config = uvicorn.Config(self, port=0, log_config=None, lifespan="off", access_log=False)
        self._server = _Server(config)
        self._tasks = [asyncio.create_task(self._ask(i)) for i in range(len(self._urls))]
        self._tasks.append(asyncio.create_task(self._server.serve()))
        await self.both_are_ready()
        while not self._server.started:
            await asyncio.sleep(POLL_SECONDS)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.should_exit = True
        await self._tasks.pop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for client in self._clients:
            await client.aclose()

"""A relay for one hop, TCP or UNIX, that can cut, delay and hold back what passes through it.

It runs in its own thread, independently of the test and the clients. What is delayed is delivered
in the end, as by a network: a request may arrive long after its sender has stopped waiting.
"""

import asyncio
import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from random import Random

# The path of a UNIX socket, or host and port.
Address = Path | tuple[str, int]
LOOK_SECONDS = 0.01
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True)
class Trouble:
    """`cut_requests` and `cut_replies` are the chance, for each piece of data, that only its
    start passes and both sides are then closed."""

    cut_requests: float = 0.0
    cut_replies: float = 0.0
    delay: float = 0.0
    holds_back: bool = False


CALM = Trouble()


class Relay:
    """Connections go to the targets in turn; if a target is not there, its connection is closed."""

    def __init__(self, targets: Sequence[Address]) -> None:
        self.trouble = CALM
        self.cuts = 0
        self.port = 0
        self._targets = cycle(targets)
        self._random = Random(1)
        self._serving: set[asyncio.Task[None]] = set()

    @contextlib.contextmanager
    def listening(self, path: Path | None = None) -> Iterator["Relay"]:
        """On a UNIX socket, or on a free port."""
        started, loop = threading.Event(), asyncio.new_event_loop()
        over = asyncio.Event()
        thread = threading.Thread(
            target=loop.run_until_complete, args=(self._run(path, started, over),), daemon=True
        )
        thread.start()
        started.wait()
        try:
            yield self
        finally:
            loop.call_soon_threadsafe(over.set)
            thread.join()
            loop.close()

    @contextlib.contextmanager
    def troubled(self, trouble: Trouble) -> Iterator[None]:
        self.trouble = trouble
        try:
            yield
        finally:
            self.trouble = CALM

    async def _run(self, path: Path | None, started: threading.Event, over: asyncio.Event) -> None:
        if path:
            server: asyncio.Server = await asyncio.start_unix_server(self._accept, path)
        else:
            server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
        started.set()
        await over.wait()
        server.close()
        serving = list(self._serving)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        # One that is cancelled before it starts has closed nothing.
        task.add_done_callback(lambda _: writer.close())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers = [writer]
        try:
            replies, requests = await _open(next(self._targets))
            writers.append(requests)
            pipes = [
                asyncio.create_task(self._pipe(reader, requests, "cut_requests")),
                asyncio.create_task(self._pipe(replies, writer, "cut_replies")),
            ]
            try:
                await asyncio.wait(pipes, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for pipe in pipes:
                    pipe.cancel()
                await asyncio.gather(*pipes, return_exceptions=True)
        except OSError:
            pass
        finally:
            for each in writers:
                each.close()
            for each in writers:
                with contextlib.suppress(OSError):
                    await each.wait_closed()

    async def _pipe(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cut: str
    ) -> None:
        while data := await reader.read(65536):
            while self.trouble.holds_back:
                await asyncio.sleep(LOOK_SECONDS)
            if self.trouble.delay:
                await asyncio.sleep(self.trouble.delay)
            if self._random.random() < getattr(self.trouble, cut):
                self.cuts += 1
                writer.write(data[: self._random.randrange(len(data))])
                return
            writer.write(data)
            await writer.drain()


async def _open(target: Address) -> Streams:
    if isinstance(target, Path):
        return await asyncio.open_unix_connection(target)
    return await asyncio.open_connection(*target)

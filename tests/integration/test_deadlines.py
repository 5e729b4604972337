"""A command whose deadline is over is not sent, and a late one does not fail others.

The server is usually one of the tests' own, which answers when it is told to and records what it
was asked; where Redis itself decides, it is a real one.
"""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hiredis import Reader
from redis.asyncio.connection import AbstractConnection, UnixDomainSocketConnection

from footfall.callbacks import fulfil
from footfall.data.store import Store
from footfall.driver.client import connect
from footfall.driver.commands import pack
from footfall.driver.connection import LATE, SILENT, CommandSender, Connection
from footfall.driver.data_set_id import DataSetIds
from footfall.driver.durability import DurableSender, Wait
from footfall.driver.stats import CommandStats
from footfall.errors import StoreUnavailable
from footfall.telemetry.metrics import Metrics
from tests.support.servers import program_of, running

TIMEOUT = 5.0


class Slow:
    """Accepts connections at once, and answers each command when the test decides."""

    def __init__(self) -> None:
        self.greets = asyncio.Event()
        self.answers = asyncio.Event()
        self.greets.set()
        self.answers.set()
        self.asked: list[bytes] = []
        self.connections = 0
        self._serving: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def listening(self, path: Path) -> AsyncIterator[Path]:
        server = await asyncio.start_unix_server(self._accept, str(path))
        async with server:
            yield path
            self.greets.set()
            self.answers.set()
        await asyncio.gather(*self._serving)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving.add(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(ConnectionError):
            await self._answer(reader, writer)
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        words = Reader()
        while data := await reader.read(65536):
            words.feed(data)
            while (command := words.gets()) is not False:
                if command == [b"TIME"]:
                    await self.greets.wait()
                    writer.write(b"*2\r\n$1\r\n1\r\n$1\r\n0\r\n")
                    continue
                self.asked.append(command[-1])
                await self.answers.wait()
                # The reply to WAITAOF has two numbers; everything else is repeated.
                echo = b"$%d\r\n%b\r\n" % (len(command[-1]), command[-1])
                writer.write(b"*2\r\n:1\r\n:0\r\n" if command[0] == b"WAITAOF" else echo)


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
async def wire(slow: Slow, own: Path) -> AsyncIterator[Connection]:
    stats = CommandStats(Metrics(), slow_seconds=TIMEOUT)

    def connection() -> AbstractConnection:
        return UnixDomainSocketConnection(path=str(own / "s"), protocol=2, driver_info=None)

    async with slow.listening(own / "s"):
        wire = Connection(connection, TIMEOUT, stats, stats.server("Redis"), DataSetIds(stats))
        yield wire
        await wire.close()


async def ask(sender: CommandSender, word: str, seconds: float) -> Any:
    """The reply to a command with so many seconds."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[list[Any]] = loop.create_future()
    sender.ask([pack("ECHO", word)], fulfil(future), loop.time() + seconds)
    (reply,) = await future
    return reply


async def late(sender: CommandSender, word: str, seconds: float) -> str:
    """The error of a command that is not answered."""
    with pytest.raises(StoreUnavailable) as caught:
        await ask(sender, word, seconds)
    return str(caught.value.__cause__)


async def passed(seconds: float) -> None:
    """Wait until the deadline of a command that started with so many seconds is over."""
    await asyncio.sleep(0)
    over = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < over:
        await asyncio.sleep(0.001)


async def until(slow: Slow, *words: bytes) -> None:
    """Wait until exactly these commands have arrived."""
    async with asyncio.timeout(TIMEOUT):
        while slow.asked != list(words):
            await asyncio.sleep(0.001)


async def test_a_command_that_is_too_late_fails_and_is_not_sent(
    wire: Connection, slow: Slow
) -> None:
    assert await ask(wire, "opens", 1) == b"opens"
    assert await late(wire, "late", 0) == LATE
    assert await ask(wire, "next", 1) == b"next"
    assert slow.asked == [b"opens", b"next"]


async def test_a_connection_that_opens_slowly_is_used_only_by_commands_that_still_wait(
    wire: Connection, slow: Slow
) -> None:
    slow.greets.clear()
    impatient = asyncio.create_task(late(wire, "impatient", 0.05))
    patient = asyncio.create_task(ask(wire, "patient", TIMEOUT))
    await passed(0.05)
    slow.greets.set()
    assert await patient == b"patient"
    assert await impatient == LATE
    assert (slow.asked, slow.connections) == ([b"patient"], 1)


async def test_a_command_that_waits_for_a_connection_fails_at_its_deadline(
    wire: Connection, slow: Slow
) -> None:
    slow.greets.clear()
    patient = asyncio.create_task(ask(wire, "patient", TIMEOUT))
    await asyncio.sleep(0)
    assert await late(wire, "impatient", 0.05) == LATE
    assert (patient.done(), slow.asked) == (False, [])
    slow.greets.set()
    assert await patient == b"patient"


async def test_a_cancelled_command_leaves_the_connection_to_the_next_ones(
    wire: Connection, slow: Slow
) -> None:
    assert await ask(wire, "opens", 1) == b"opens"
    slow.answers.clear()
    impatient = asyncio.create_task(late(wire, "impatient", 0.05))
    await until(slow, b"opens", b"impatient")
    patient = asyncio.create_task(ask(wire, "patient", TIMEOUT))
    assert await impatient == SILENT
    slow.answers.set()
    assert await patient == b"patient"
    assert await ask(wire, "next", 1) == b"next"
    assert slow.connections == 1


async def test_a_command_fails_at_its_deadline_also_behind_one_that_has_longer(
    wire: Connection, slow: Slow
) -> None:
    assert await ask(wire, "opens", 1) == b"opens"
    slow.answers.clear()
    patient = asyncio.create_task(ask(wire, "patient", TIMEOUT))
    await until(slow, b"opens", b"patient")
    assert await late(wire, "impatient", 0.05) == SILENT
    assert not patient.done()
    slow.answers.set()
    assert await patient == b"patient"
    assert slow.connections == 1


async def test_a_silence_for_the_whole_of_the_timeout_breaks_the_connection(
    slow: Slow, own: Path
) -> None:
    stats = CommandStats(Metrics(), slow_seconds=TIMEOUT)
    async with slow.listening(own / "s"):
        wire = Connection(
            lambda: UnixDomainSocketConnection(path=str(own / "s"), driver_info=None, protocol=2),
            0.2,
            stats,
            stats.server("Redis"),
            DataSetIds(stats),
        )
        assert await ask(wire, "opens", 0.2) == b"opens"
        slow.answers.clear()
        assert await late(wire, "lost", 0.2) == SILENT
        slow.answers.set()
        assert await ask(wire, "next", 0.2) == b"next"
        assert slow.connections == 2
        await wire.close()


async def test_a_command_that_waits_too_long_behind_a_flush_is_not_sent(
    wire: Connection, slow: Slow
) -> None:
    wait = Wait(1, TIMEOUT, pack("WAITAOF", 1, 0, "milliseconds"))
    stats = CommandStats(Metrics(), slow_seconds=TIMEOUT)
    sender = DurableSender(wire, wait, TIMEOUT, stats.server("Redis"))
    slow.answers.clear()
    first = asyncio.create_task(ask(sender, "first", TIMEOUT))
    await until(slow, b"first")
    impatient = asyncio.create_task(late(sender, "impatient", 0.05))
    patient = asyncio.create_task(ask(sender, "patient", TIMEOUT))
    await passed(0.05)
    slow.answers.set()
    assert (await first, await patient) == (b"first", b"patient")
    assert await impatient == LATE
    assert slow.asked == [b"first", b"milliseconds", b"patient", b"milliseconds"]


async def test_a_server_that_is_set_to_flush_always_confirms_what_another_wait_did_not(
    wire: Connection,
) -> None:
    state = CommandStats(Metrics(), slow_seconds=TIMEOUT).server("Redis")
    sender = DurableSender(wire, Wait(1, TIMEOUT, b"", may_flush=True), TIMEOUT, state)
    state.unconfirmed("too slow")
    sender._learnt([[b"appendonly", b"yes", b"appendfsync", b"always"]])
    assert not state.look()
    await sender.close()


async def test_a_batch_that_could_not_leave_in_time_never_does(own: Path) -> None:
    with running(program_of("valkey"), own / "r") as server:
        store = Store(connect(server.url, timeout=0.4), prefix="t", buckets=256)
        await store.create()
        assert await store.counters.add([("/warm", "time", 1)]) == [1]
        server.signal(signal.SIGSTOP)
        adds: list[asyncio.Task[list[int]]] = []
        for n in range(8):
            # Each is in a batch of its own, until too many are under way; the others wait for
            # those.
            adds.append(asyncio.create_task(store.counters.add([(f"/{n}", "time", 1)])))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        waiting = store.batch.waiting
        assert waiting > 0
        found = await asyncio.gather(*adds, return_exceptions=True)
        assert {type(each) for each in found} == {StoreUnavailable}
        server.signal(signal.SIGCONT)
        await store.redis.close()
        patient = Store(connect(server.url, timeout=TIMEOUT), prefix="t", buckets=256)
        counts = await patient.counters.read([f"time /{n}" for n in range(8)])
        assert sum(counts) <= 8 - waiting, "no more than was sent"
        assert counts[-1] == 0
        await patient.redis.close()

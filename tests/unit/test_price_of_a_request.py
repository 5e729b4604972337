"""What a request on the fast path costs, in calls and in blocks of memory: counted, not timed.

Sockets and Redis are left out. Who makes one of these numbers larger should know why, and who makes
it smaller writes the smaller one here.
"""

import asyncio
import gc
import sys
from collections.abc import Sequence
from itertools import repeat
from typing import Any, cast
from unittest.mock import AsyncMock

import pytest

from bench.lane import Listener, connections, packed, requests_of
from bench.scenarios import Headers, Increment, Op, Read
from footfall.asgi import create_metrics, policy_of
from footfall.config import Settings
from footfall.routes import operations
from footfall.statistics.moments import Moments
from footfall.statistics.visitors import salted
from footfall.statistics.visits import Visits
from footfall.stores import open_process, open_store
from footfall.table.fast_cycle import protocol_of
from tests.support.sites import site_of

# Requests of one turn of the event loop, each on a connection of its own.
TURN = 16


class Redis(asyncio.Transport):
    """A connection to Redis that is open, and answers when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.commands: list[bytes] = []

    def write(self, data: Any) -> None:
        self.commands.append(data)


class Server:
    """Connections to a service, and its connection to Redis."""

    def __init__(self, **environ: str) -> None:
        settings = Settings.from_env({"DURABILITY": "memory", "STATISTICS": "off", **environ})
        store = open_store(settings, open_process(settings, "redis://127.0.0.1"))
        if isinstance(store.moment, Moments) and store.moment.salts is not None:
            store.moment.salts[store.moment().day] = salted(bytes(32), "ff")
        site = site_of(settings, store, metrics=create_metrics())
        protocol = protocol_of(site.served, policy_of(settings), operations(()))
        self.clients = connections(TURN, site, protocol)
        self._redis = cast(Any, store.redis.sender)
        self._sent = Redis()
        self._redis._transport, self._redis.is_open = self._sent, True

    async def answer(self, sent: Sequence[bytes], op: type[Op]) -> None:
        """Answer these requests, which one batch asks Redis for."""
        for (protocol, _), each in zip(self.clients, sent, strict=False):
            protocol.data_received(each)
        await asyncio.sleep(0)
        assert len(self._sent.commands) == 1
        self._sent.commands.clear()
        counts = [7] * len(sent)
        self._redis.data_received(
            packed(counts) if op is Increment else b"".join(packed(b"7") for _ in counts)
        )


def calls_in(events: list[str]) -> int:
    return sum(event in {"call", "c_call"} for event in events)


def distinct(kind: type[Op], headers: Headers) -> list[bytes]:
    """Requests for one counter each, no two for the same."""
    op = Increment if kind is Increment else lambda name: Read((name,))
    return requests_of(op, headers, range(40 * TURN))


# How often requests are sent before they are counted: the first time they are prepared, and a
# connection's Host is checked; after few views a page is placed in a list often.
WARMING, COUNTED = 8, 5


async def counted(
    kind: type[Op], headers: Headers, size: int, *, are_new: bool = False, **environ: str
) -> float:
    """The calls of a request, when so many share a batch; they come from clients that are known,
    or of the same pages from others each time."""
    server = Server(**environ)
    if are_new:
        every = requests_of(kind, headers, [*range(size)] * (WARMING + COUNTED))
        turns = iter([every[at : at + size] for at in range(0, len(every), size)])
    else:
        turns = repeat(distinct(kind, headers)[:size])
    for _ in range(WARMING):
        await server.answer(next(turns), kind)
    events: list[str] = []
    found: list[int] = []
    # What other tests have left may be collected now, and its finalizers would be counted.
    gc.disable()
    try:
        # The timer of what is sent behind a view may end within one of them.
        for _ in range(COUNTED):
            events.clear()
            sent = next(turns)
            sys.setprofile(lambda frame, event, argument: events.append(event))
            await server.answer(sent, kind)
            sys.setprofile(None)
            found.append(calls_in(events))
    finally:
        sys.setprofile(None)
        gc.enable()
    answered: list[Listener] = [listener for _, listener in server.clients[:size]]
    assert all(each.received.startswith(b"HTTP/1.1 200 OK\r\n") for each in answered)
    return min(found) / size


@pytest.mark.parametrize(
    ("kind", "headers", "size", "most", "with_visitors"),
    [
        (Increment, "plain", TURN, 51, 57),
        (Increment, "browser", TURN, 69, 79),
        (Increment, "proxied", TURN, 78, 84),
        (Increment, "browser", 1, 150, 149),
        (Read, "plain", TURN, 45, 45),
        (Read, "browser", TURN, 63, 65),
        (Read, "browser", 1, 130, 132),
    ],
)
async def test_a_request_makes_no_more_calls_than_it_did(
    kind: type[Op],
    headers: Headers,
    size: int,
    most: int,
    with_visitors: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The site is told of each visitor once.
    monkeypatch.setattr(Visits, "_tell", AsyncMock())
    assert await counted(kind, headers, size) <= most
    assert await counted(kind, headers, size, STATISTICS="visitors") <= with_visitors


async def test_a_client_who_is_new_costs_few_calls_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most readers of a busy site come once: their requests must not be parsed twice."""
    monkeypatch.setattr(Visits, "_tell", AsyncMock())
    assert await counted(Increment, "proxied", TURN, are_new=True) <= 90
    visitors = await counted(Increment, "proxied", TURN, are_new=True, STATISTICS="visitors")
    assert visitors <= 117


async def blocks_kept(kind: type[Op]) -> float:
    """The blocks of memory that are kept for each request that was prepared."""
    server = Server()
    found = distinct(kind, "browser")
    await server.answer(found[:TURN], kind)
    gc.collect()
    # What is there stays, and need not be looked at again.
    gc.freeze()
    before, number = sys.getallocatedblocks(), 0
    for first in range(TURN, 9 * TURN, TURN):
        await server.answer(found[first : first + TURN], kind)
        number += TURN
    gc.collect()
    return (sys.getallocatedblocks() - before) / number


@pytest.mark.parametrize(("kind", "most"), [(Increment, 16), (Read, 13)])
async def test_a_prepared_request_keeps_few_blocks(kind: type[Op], most: int) -> None:
    # The least of several, since what else goes on in this process allocates, too.
    assert min([await blocks_kept(kind) for _ in range(3)]) <= most

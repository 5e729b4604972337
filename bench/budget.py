"""Where a counter's request spends its time in the service: microseconds of each stage.

    python -m bench.budget

24 connections send a request each, one batch asks Redis for all of them, and each gets its answer;
all in this process, without sockets, and Redis's replies are prepared. A stage is measured together
with those before it, and its figure is the difference. What a server takes beyond their sum is for
its event loop, for its connection to Redis, and for caches that others have emptied meanwhile.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice, pairwise
from math import inf
from types import SimpleNamespace
from typing import Any

import hiredis
import httptools
import uvloop

from footfall.api.fast_cycle import FastCycle, protocol_of
from footfall.app import open_process, open_store
from footfall.asgi import create_metrics, policy_of
from footfall.config import Settings
from footfall.domain.site import Site
from footfall.driver.connection import Command, Done
from footfall.http.protocol import HttpProtocol
from tests.support.sites import site_of

from .lane import OPERATIONS, connections, packed, requests_of
from .scenarios import Headers

# Requests at a time, and how often they are sent.
TURN = 24
TURNS = 2_000
HEADERS: tuple[Headers, ...] = ("plain", "browser", "proxied")
STAGES = (
    "llhttp reads its bytes",
    "its headers are collected",
    "its URL and body are collected",
    "it is recognised, checked and accepted",
    "a batch asks Redis, and reads the replies",
    "it is answered",
)


class Collecting(HttpProtocol):
    """Reads a request, and forgets it."""

    def on_message_complete(self) -> None:
        self._is_held = False
        self.is_between = True


class Accepting(FastCycle):
    """Accepts a request, and forgets it."""

    __slots__ = ()

    def start(self) -> None:
        self.response_complete = True


class Unanswering(FastCycle):
    """Makes a reply, and forgets it."""

    __slots__ = ()

    def answer(self, reply: Any) -> int:
        self.response_complete = True
        return 200


class Replying:
    """A CommandSender whose every reply is there at once."""

    def __init__(self) -> None:
        self._reader = hiredis.Reader()

    def ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None:
        self._reader.feed(b"".join(map(self._reply, commands)))
        done([self._reader.gets() for _ in commands])

    def _reply(self, command: Command) -> bytes:
        return packed([1234] * TURN) if b"EVALSHA" in command else packed(b"1234")


def serving() -> Site:
    """The service, with Redis's replies there at once."""
    settings = Settings.from_env({})
    store = open_store(settings, open_process(settings, "redis://127.0.0.1"))
    store.redis.data_set_ids.check = lambda: None  # type: ignore[method-assign]
    for batch in store.batches.values():
        batch._ask = Replying().ask  # type: ignore[attr-defined]
    return site_of(settings, store, metrics=create_metrics())


def stages() -> list[list[Callable[[bytes], object]]]:
    """For each stage, what takes the bytes of a connection so far."""
    service, policy = serving(), policy_of(Settings.from_env({}))
    cycles = (Accepting, Unanswering, FastCycle)
    types = [protocol_of(service, policy, cycle_type=each) for each in cycles]
    types.insert(0, type("Collecting", (Collecting, types[0]), {}))
    protocols = [[each for each, _ in connections(TURN, service, kind)] for kind in types]
    one = protocols[0][0]
    collector = SimpleNamespace(on_header=one.on_header, on_message_complete=one.head.clear)
    parsers = [httptools.HttpRequestParser(each) for each in (object(), collector)]
    takers: list[list[Callable[[bytes], object]]] = [[each.feed_data] * TURN for each in parsers]
    takers += [[each.data_received for each in several] for several in protocols]
    return takers


async def measure(method: str, headers: Headers) -> list[float]:
    """Microseconds of a request in each stage; the least of many turns."""
    sent = cycle(requests_of(OPERATIONS[method], headers))
    sums = [0.0]
    for takers in stages():
        least = inf
        for _ in range(TURNS):
            turn = list(zip(takers, islice(sent, TURN), strict=True))
            start = time.perf_counter()
            for take, request in turn:
                take(request)
            await asyncio.sleep(0)
            least = min(least, time.perf_counter() - start)
        sums.append(least / TURN * 1e6)
    return [after - before for before, after in pairwise(sums)]


def main() -> None:
    kinds = [(method, headers) for method in OPERATIONS for headers in HEADERS]
    columns = [uvloop.run(measure(*kind)) for kind in kinds]
    print(f"| µs of a request that | {' | '.join(f'{a}, {b}' for a, b in kinds)} |")
    print("|---" * (1 + len(kinds)) + "|")
    for stage, *figures in zip(
        (*STAGES, "together"), *[[*each, sum(each)] for each in columns], strict=True
    ):
        print(f"| {stage} | {' | '.join(f'{each:.1f}' for each in figures)} |")


if __name__ == "__main__":
    main()
